//go:build !unix

package main

import (
	"os"
	"os/exec"
	"os/signal"
)

func catch(c chan<- os.Signal) { signal.Notify(c, os.Interrupt) }

func isSummary(os.Signal) bool { return false }

func isDropped(os.Signal) bool { return false }

func ownGroup(*exec.Cmd) {}

// sendSignal kills: there is nothing gentler here that a program without a
// window understands. A console's Ctrl-C has reached the server already.
func sendSignal(p *os.Process, sig os.Signal) {
	if sig != os.Interrupt {
		p.Kill()
	}
}

func killGroup(p *os.Process) { p.Kill() }

func exitStatus(state *os.ProcessState) int { return state.ExitCode() }
