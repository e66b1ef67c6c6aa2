//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// watched are the signals that are passed on to the server. SIGPIPE is
// caught, and dropped, so that writing to a host that has gone is an error and
// not our death; it is not ignored, since the server would inherit that.
var watched = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE,
}

// catch sends the signals that are not ignored to c.
func catch(c chan<- os.Signal) {
	for _, sig := range watched {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
}

// isSummary reports whether sig asks for a summary rather than going through.
func isSummary(sig os.Signal) bool { return sig == syscall.SIGUSR1 }

func isDropped(sig os.Signal) bool { return sig == syscall.SIGPIPE }

// ownGroup has cmd start in a process group of its own, so that its children
// can be killed with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// sendSignal sends sig to the server, and what a terminal would have sent to
// everybody in its foreground to the server's whole group.
func sendSignal(p *os.Process, sig os.Signal) {
	switch sig {
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP:
		syscall.Kill(-p.Pid, sig.(syscall.Signal))
	default:
		p.Signal(sig)
	}
}

// killGroup kills the server and its children.
func killGroup(p *os.Process) {
	syscall.Kill(-p.Pid, syscall.SIGKILL)
	p.Kill()
}

// exitStatus returns the status to exit with: the server's, and as a shell
// has it 128 more than the number of the signal that ended it.
func exitStatus(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}
