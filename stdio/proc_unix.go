//go:build unix

package stdio

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the process that cmd will start a process group of its own, so that its children can be ended with it.
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if a := cmd.SysProcAttr; !a.Setsid && a.Pgid == 0 { // a new session is a new group too
		a.Setpgid = true
	}
}

// askGroup asks the group to end.
func askGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGTERM) }

// killGroup ends what is left of the group.
func killGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGKILL) }

// signalGroup signals the process alone if it leads no group, because the caller of Start has put it into another.
func signalGroup(cmd *exec.Cmd, sig syscall.Signal) {
	if syscall.Kill(-cmd.Process.Pid, sig) != nil {
		cmd.Process.Signal(sig)
	}
}
