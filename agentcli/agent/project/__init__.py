"""Files of a project that instruct an agent: instructions, rules, skills, commands, kinds of agents."""
