"""Files of a project that tell an agent what to do: instructions, rules, skills, commands, kinds of agents."""
