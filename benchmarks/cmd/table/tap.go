package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"example.com/mcp/framing/benchmarks/peer"
)

// tapTable prints what mcptap between client and server costs. It builds mcptap,
// so it has to run in this module's folder.
func tapTable(c *config) (err error) {
	dir, err := os.MkdirTemp("", "mcptap")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tap := filepath.Join(dir, "mcptap")
	if out, err := exec.Command("go", "build", "-o", tap, "example.com/mcp/framing/cmd/mcptap").CombinedOutput(); err != nil {
		return fmt.Errorf("building mcptap: %w: %s", err, out)
	}
	log := filepath.Join(dir, "log")
	ways := []struct {
		name   string
		prefix []string
	}{
		{"direct", nil},
		{"mcptap", []string{tap, "--"}},
		{"mcptap -log", []string{tap, "-log", log, "--"}},
	}
	fmt.Println("\n### With mcptap in between")
	var peers []peer.Peer
	var sessions []peer.Session
	for _, w := range ways {
		p := peer.Peers[0]
		s, err := peer.StartQuietly(p, w.prefix...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		p.Name += ", " + w.name
		peers, sessions = append(peers, p), append(sessions, s)
	}
	for _, l := range loads {
		if err := peerLoad(c, l, peers, sessions); err != nil {
			return err
		}
	}
	return nil
}
