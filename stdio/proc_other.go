//go:build !unix

package stdio

import "os/exec"

func ownGroup(*exec.Cmd) {}

// askGroup kills the process: there is no gentler way that works for all.
func askGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

func killGroup(*exec.Cmd) {}
