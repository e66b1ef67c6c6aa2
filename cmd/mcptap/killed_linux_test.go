package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestTapKilled: SIGKILL ends the server too, though it is deaf to everything
// else.
func TestTapKilled(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p := startTap(t, []step{ignoring(), hold(fifo), hang()})
	held, err := os.Open(fifo) // once the server is there
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	p.Process.Kill()
	held.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadAll(held); err != nil {
		t.Errorf("%v: the server lives on", err)
	}
}
