"""Watch and answer sessions of this machine from elsewhere.

Each shared session has a control socket. `ps` and `attach` use it, and a page shows it in a browser.
"""
