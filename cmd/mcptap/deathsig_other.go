//go:build !linux

package main

import "os/exec"

// dieWithUs does nothing: a server that does not end at EOF outlives a mcptap
// that is killed.
func dieWithUs(*exec.Cmd) {}
