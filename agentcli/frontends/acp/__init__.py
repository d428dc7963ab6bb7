"""Front end for editors: the Agent Client Protocol on stdin and stdout."""
