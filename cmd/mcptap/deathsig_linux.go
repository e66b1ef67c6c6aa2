package main

import (
	"os/exec"
	"syscall"
)

// dieWithUs has cmd killed when the thread that starts it ends. SIGKILL is the
// one signal that cannot be passed on: a host that has to resort to it means the
// server, which may be deaf to EOF, and would be left behind.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
