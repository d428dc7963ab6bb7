"""Sessions seen and answered from elsewhere on this machine: a control socket for each shared session, `ps`, `attach`, and a page."""
