package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp/framing/cmd/mcptap/internal/observe"
)

// TestDrain: how long a server's pipes are read once it has exited.
func TestDrain(t *testing.T) {
	const grace = 2 * time.Second
	tests := []struct {
		name   string
		asked  bool          // for the end, before
		beats  time.Duration // a child of the server's writes every second until then
		reads  time.Duration // the host takes what is passed to it at that time
		signal time.Duration // 0: none
		want   time.Duration
	}{
		{"silence", false, 0, 0, 0, grace},
		{"a child that writes", false, 10 * time.Second, 0, 0, 12 * time.Second},
		{"a child that writes, and the host asks for the end", false, time.Hour, 0, 5 * time.Second, 5 * time.Second},
		{"a child that writes, and the host asked for the end", true, time.Hour, 0, 0, grace},
		{"a slow host", false, 0, time.Hour, 0, time.Hour},
		{"a slow host that asked for the end", true, 0, time.Hour, 0, grace},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, stdout := io.Pipe()
				defer host.Close()
				tp := newTap(config{grace: grace}, streams{out: stdout, err: io.Discard})
				done := make(chan struct{})
				tp.toClientPulse.beat()
				time.Sleep(time.Hour) // the server was silent, until its last words
				began := time.Now()
				if test.reads > 0 {
					tp.in, tp.out = new(closeBuffer), io.NopCloser(strings.NewReader("its last words"))
					go func() { defer close(done); tp.toClient() }()
					time.AfterFunc(test.reads, func() { io.ReadAll(host) })
				}
				for at := time.Second; at <= test.beats; at += time.Second {
					time.AfterFunc(at, tp.toClientPulse.beat)
				}
				signals := make(chan os.Signal)
				if test.signal > 0 {
					time.AfterFunc(test.signal, func() { signals <- os.Interrupt })
				}
				synctest.Wait()
				asked := tp.drain(done, &tp.toClientPulse, test.asked, signals)
				if took := time.Since(began); took != test.want || asked != (test.asked || test.signal > 0) {
					t.Errorf("drain took %v and reported %t, want %v", took, asked, test.want)
				}
			})
		})
	}
}

// TestLastWordsWithStderrUnread: a host that does not read stderr, which is
// full, holds whoever writes there, and nobody else.
func TestLastWordsWithStderrUnread(t *testing.T) {
	writers := map[string]func(*stderrLog){
		"the server's words": func(s *stderrLog) { s.pass([]byte("its last words\n")) },
		"rows":               func(s *stderrLog) { s.keep([]byte("its last words\n")); fmt.Fprintln(s, "a row") },
	}
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			full := blockingWriter{make(chan struct{}), make(chan struct{})}
			defer close(full.resume)
			s := &stderrLog{w: full}
			go write(s)
			<-full.begun
			got := make(chan string)
			go func() { got <- fmt.Sprint(s.last()) }()
			select {
			case words := <-got:
				if words != "[its last words]" {
					t.Errorf("last words %s, want [its last words]", words)
				}
			case <-time.After(10 * time.Second):
				t.Error("the last words wait for a write that never ends")
			}
		})
	}
}

// blockingWriter tells of a write and lets it wait.
type blockingWriter struct{ begun, resume chan struct{} }

func (b blockingWriter) Write(p []byte) (int, error) {
	close(b.begun)
	<-b.resume
	return len(p), nil
}

// TestSummaryComesInTime: an observer that is behind gives up looking, and
// counts, so that the host need not wait for the summary.
func TestSummaryComesInTime(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envScript+"="+encodeScript([]step{exit(0)}))
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	const lines = 1000
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		tp := newTap(config{json: true, grace: 2 * time.Second}, streams{err: &errs})
		tp.watch.obs.OnEntry = func(*observe.Entry) { time.Sleep(100 * time.Millisecond) }
		go tp.observe()
		for range lines {
			tp.q.put(time.Now(), observe.ToClient, []byte(note("a")))
		}
		began := time.Now()
		tp.finish(cmd.ProcessState)
		if took := time.Since(began); took >= 2*time.Second {
			t.Errorf("the end took %v, want less than the grace", took)
		}
		o := outcome{stderr: errs.String()}
		o.parse(t)
		if len(o.summary.Streams) != 1 || o.summary.End == nil {
			t.Fatalf("summary %+v, want one stream and the end", o.summary)
		}
		s := o.summary.Streams[0]
		if s.Lines != lines || s.UnseenLines == 0 || s.Messages["notification"]+s.UnseenLines != lines {
			t.Errorf("summary %+v, want %d lines, seen or unseen", s, lines)
		}
		if got, want := fmt.Sprint(o.found()), "[unseen to-client 0 "; !strings.HasPrefix(got, want) {
			t.Errorf("findings %s, want %s...", got, want)
		}
	})
}
