//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// tapOver runs mcptap over a server that answers each request, with these for
// its stdin and stdout, and calls while with its end of in after a ping.
func tapOver(t *testing.T, in, out *os.File, host *os.File, answers *bufio.Reader, while func(stdin *os.File)) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "--", os.Args[0])
	cmd.Env = append(os.Environ(), envMain+"=1", envChild+"="+encodeScript([]step{echo(pong), {}}))
	cmd.Stdin, cmd.Stdout = in, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := host.WriteString(ping); err != nil {
		t.Fatal(err)
	}
	line(t, answers)
	while(in)
	host.Close()
	cmd.Wait()
}

func blocks(t *testing.T, f *os.File) (yes bool) {
	t.Helper()
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	conn.Control(func(fd uintptr) {
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		yes = flags&syscall.O_NONBLOCK == 0
	})
	return yes
}

// Whoever shares stdin with us finds it as it was.
func TestStdinIsPutBack(t *testing.T) {
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	inR.Fd() // makes it block, as a shell's pipe does
	tapOver(t, inR, outW, inW, bufio.NewReader(outR), func(stdin *os.File) {
		if blocks(t, stdin) {
			t.Error("a pipe that is stdin alone blocks while mcptap runs")
		}
	})
	if !blocks(t, inR) {
		t.Error("the pipe does not block after mcptap has ended")
	}
}

// A socket that is stdout as well, as from inetd, is written to by others too.
func TestSharedStdinIsLeftAlone(t *testing.T) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fds[0]) // or the server keeps the host's end open
	syscall.CloseOnExec(fds[1])
	ours, theirs := os.NewFile(uintptr(fds[0]), "host"), os.NewFile(uintptr(fds[1]), "server")
	tapOver(t, theirs, theirs, ours, bufio.NewReader(ours), func(stdin *os.File) {
		if !blocks(t, stdin) {
			t.Error("a socket that is stdin and stdout does not block while mcptap runs")
		}
	})
}
