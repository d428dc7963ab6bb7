from pydantic import BaseModel


class Cli:
    def __init__(self, flag: str) -> None:
        self.flag = flag


class InstalledAgentOptions(BaseModel):
    version: str | None = None
