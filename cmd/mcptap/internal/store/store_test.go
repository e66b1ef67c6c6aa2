package store

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

var at = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// TestCaptureRoundTrip: every read comes back with its time, its direction
// and its bytes, also around a gap.
func TestCaptureRoundTrip(t *testing.T) {
	dir := t.TempDir()
	c, err := OpenCapture(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	c.Start(at, []string{"server"})
	c.Chunk(at, observe.ToServer, []byte("{\"a\":"))
	c.Chunk(at, observe.ToClient, []byte("\x00\xff\n"))
	c.Chunk(at, observe.ToServer, []byte("1}\n"))
	c.Gap(at, observe.ToClient, observe.Gap{Bytes: 7, Newlines: 1})
	c.Chunk(at.Add(time.Second), observe.ToClient, []byte("x\n"))
	c.EOF(at.Add(time.Second), observe.ToServer)
	c.End(at.Add(time.Minute), observe.End{Status: "exit status 1"})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	o := observe.NewObserver(0, false)
	var got []string
	o.OnEntry = func(e *observe.Entry) {
		got = append(got, fmt.Sprintf("%v %s %d %d", e.Time.Sub(at), e.Dir, e.Line, e.Bytes))
	}
	o.OnEvent = func(ev *observe.Event) { got = append(got, fmt.Sprintf("%v %s", ev.Time.Sub(at), ev.Name)) }
	if err := ReadCapture(filepath.Join(dir, "reads.ndjson"), o); err != nil {
		t.Fatal(err)
	}
	want := []string{"0s start", "0s to-client 1 2", "0s to-server 1 7", "0s gap", "1s to-client 3 1", "1s eof", "1m0s eof", "1m0s end"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back %q, want %q", got, want)
	}
}

// TestRedactedGap: what follows a gap inside a line is masked as text.
func TestRedactedGap(t *testing.T) {
	dir := t.TempDir()
	c, err := OpenCapture(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	c.Chunk(at, observe.ToClient, []byte(`{"a":"sec`))
	c.Gap(at, observe.ToClient, observe.Gap{Bytes: 1, Inside: true})
	c.Chunk(at, observe.ToClient, []byte(`ret","id":"secret"}`))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "to-client.ndjson"))
	if want := `{"a":"xxxxxx","xx":"xxxxxx"}`; string(got) != want || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// TestNilKeepsNothing: sessions without records use nil ones.
func TestNilKeepsNothing(t *testing.T) {
	var c *Capture
	c.Start(at, nil)
	c.Chunk(at, observe.ToClient, []byte("x"))
	c.Gap(at, observe.ToClient, observe.Gap{})
	c.EOF(at, observe.ToClient)
	c.End(at, observe.End{})
	c.Flush()
	var l *Log
	l.Entry(&observe.Entry{})
	l.Event(&observe.Event{})
	l.Flush()
	if err := errors.Join(c.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}

// TestFirstErrorIsKept: a record that cannot be written is told at the end,
// and the session goes on.
func TestFirstErrorIsKept(t *testing.T) {
	dir := t.TempDir()
	l, err := OpenLog(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	l.f.Close()
	for range 2000 { // more than gathers before it is written
		l.Entry(&observe.Entry{Item: observe.Item{Kind: "request", Method: strings.Repeat("m", 50)}})
	}
	if l.buf.Len() > flushBytes {
		t.Errorf("%d bytes have gathered, want at most %d", l.buf.Len(), flushBytes)
	}
	if err := l.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the log's Close = %v, want %v", err, os.ErrClosed)
	}
	c, err := OpenCapture(filepath.Join(dir, "capture"), false)
	if err != nil {
		t.Fatal(err)
	}
	c.raw[observe.ToClient].f.Close()
	c.Chunk(at, observe.ToClient, make([]byte, flushBytes+1))
	c.Chunk(at, observe.ToServer, []byte("x"))
	if err := c.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the capture's Close = %v, want %v", err, os.ErrClosed)
	}
}

// TestOpen: what is in the way is named.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	os.WriteFile(file, []byte("x"), 0o600)
	os.WriteFile(filepath.Join(dir, "to-client.ndjson"), []byte("somebody's"), 0o600)
	for _, test := range []struct {
		name string
		open func() error
		want error
		says string
	}{
		{"a log in no folder", func() error { _, err := OpenLog(filepath.Join(dir, "no", "log")); return err }, fs.ErrNotExist, "log"},
		{"a capture in a file", func() error { _, err := OpenCapture(file, false); return err }, syscall.ENOTDIR, "file"},
		{"a capture over a file", func() error { _, err := OpenCapture(dir, false); return err }, fs.ErrExist, "to-client.ndjson"},
	} {
		if err := test.open(); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %v and %s", test.name, err, test.want, test.says)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "to-client.ndjson")); string(data) != "somebody's" {
		t.Errorf("somebody's file holds %q now", data)
	}
}

// TestLongRecord: a line that is too long costs that line alone.
func TestLongRecord(t *testing.T) {
	const start = `{"pid":1,"event":"start"}`
	for size, want := range map[int]string{
		maxRecord:     "[1 1 1] <nil>",
		maxRecord + 1: "[1 1] line 2: not a record of a log, passed over: the line is longer than 16777216 bytes",
	} {
		var pids []int
		long := start + strings.Repeat(" ", size-len(start))
		err := ReadLog(strings.NewReader(start+"\r\n"+long+"\n"+start), func(pid int, _ *observe.Entry, _ *observe.Event) {
			pids = append(pids, pid)
		})
		if got := fmt.Sprint(pids, " ", err); got != want {
			t.Errorf("%d bytes: %s, want %s", size, got, want)
		}
	}
}

// TestCapturesInOrder: those of a folder, by their numbers.
func TestCapturesInOrder(t *testing.T) {
	dir := t.TempDir()
	for range 11 {
		c, err := OpenCapture(dir, false)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	names, err := Captures(dir)
	if err != nil || len(names) != 11 || filepath.Base(names[0]) != "reads.ndjson" || filepath.Base(names[8]) != "reads-9.ndjson" || filepath.Base(names[9]) != "reads-10.ndjson" {
		t.Errorf("captures %q, %v; want 11, reads-10 behind reads-9", names, err)
	}
}

// TestBadCapture: what is wrong with a capture's reads is named.
func TestBadCapture(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		os.WriteFile(filepath.Join(dir, name), []byte("1234"), 0o600)
	}
	head := `{"mcptap":"capture","files":["a","b"]}` + "\n"
	for reads, want := range map[string]string{
		"x":                             "line 1: not a read",
		`{"mcptap":"capture"}`:          "two files",
		`{"dir":"to-client","bytes":1}`: "without a direction",
		head + `{"bytes":1}`:            "line 2: a read without a direction",
		head + `{"dir":"to-client","bytes":17000000}`:          "impossible size",
		head + `{"dir":"to-client","bytes":5}`:                 "b is shorter",
		`{"mcptap":"capture","files":["a","nowhere/missing"]}`: "missing",
		head + strings.Repeat("x", maxRecord+1):                "line 2: the line is longer than 16777216 bytes",
	} {
		name := filepath.Join(dir, "reads.ndjson")
		os.WriteFile(name, []byte(reads), 0o600)
		if err := ReadCapture(name, observe.NewObserver(0, false)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", reads, err, want)
		}
	}
	if err := ReadCapture(filepath.Join(dir, "none"), observe.NewObserver(0, false)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v, want %v", err, fs.ErrNotExist)
	}
}

func TestSniff(t *testing.T) {
	for head, want := range map[string]Format{
		"": Plain, `{"jsonrpc":"2.0"}`: Plain, `{"pid":7,"event":"start"}`: IsLog, `{"mcptap":"capture"}`: IsReads,
		"\x7FELF\x02": IsProgram, "#!/bin/sh\n": IsProgram, "MZ\x90\x00\x03": IsProgram, "MZ, said he": Plain,
	} {
		if got := Sniff(bufio.NewReader(strings.NewReader(head))); got != want {
			t.Errorf("Sniff(%q) = %v, want %v", head, got, want)
		}
	}
}
