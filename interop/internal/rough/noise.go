package rough

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/mcp/framing"
)

// Texts are strings that line-based peers and JSON printers get wrong.
var Texts = map[string]string{
	"empty":          "",
	"line breaks":    "a\nb\rc\r\nd\v\f",
	"LS, PS and NEL": "a\u2028b\u2029c\u0085d",
	"NUL and DEL":    "\x00\x1b\x1f\x7f",
	"BOM inside":     "\ufeffa\ufeff",
	"emoji":          "👩‍🚀🏳️‍🌈",
	"CJK":            "日本語 中文 한국어 𠮷",
	"markup":         `</script>&<>'"\/`,
	"frame inside":   `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n",
	"1 MB":           strings.Repeat("0123456789abcdef", 1<<16),
	"1 MB of CJK":    strings.Repeat("語", 1<<20/3),
}

// Noise is what programs print between their messages.
var Noise = []string{"Server started", "{", "[1,2]", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`,
	"\ufeff{}", "Content-Length: 2"}

// addNoise copies lines from r to w, with Noise and a blank line before each, and closes w.
func addNoise(w io.WriteCloser, r io.Reader) {
	defer w.Close()
	for br := bufio.NewReader(r); ; {
		line, err := br.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Fprintf(w, "%s\n\n%s", strings.Join(Noise, "\n"), line)
	}
}

// NoisyPipes returns the streams of a client and of a server that it talks to, with noise before each line of either.
func NoisyPipes() (clientIn io.ReadCloser, clientOut io.WriteCloser, serverIn io.ReadCloser, serverOut io.WriteCloser) {
	fromServer, serverOut := io.Pipe()
	fromClient, clientOut := io.Pipe()
	clientIn, noisyServer := io.Pipe()
	serverIn, noisyClient := io.Pipe()
	go addNoise(noisyServer, fromServer)
	go addNoise(noisyClient, fromClient)
	return clientIn, clientOut, serverIn, serverOut
}

// CheckEcho has echo return each of the Texts n times, all at once.
func CheckEcho(t testing.TB, n int, echo func(text string) (string, error)) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		for name, text := range Texts {
			wg.Go(func() {
				if got, err := echo(text); err != nil {
					t.Errorf("echo of %s: %v", name, err)
				} else if got != text {
					t.Errorf("echo of %s = %.20q, want %.20q", name, got, text)
				}
			})
		}
	}
	wg.Wait()
}

// BadLines counts what is reported to OnBadLine. It may be used by several goroutines at once.
type BadLines struct {
	mu    sync.Mutex
	count map[string]int
}

// Add is an OnBadLine.
func (b *BadLines) Add(m framing.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == nil {
		b.count = map[string]int{}
	}
	b.count[string(m.Line)]++
}

// Check fails t unless each of lines has been reported n times or more, and nothing else but the peer's answers to bad lines.
func (b *BadLines) Check(t testing.TB, n int, lines ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range lines {
		if b.count[line] < n {
			t.Errorf("OnBadLine(%q) called %d times, want %d", line, b.count[line], n)
		}
	}
	for line := range b.count {
		if !slices.Contains(lines, line) && !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":null,"error":`) {
			t.Errorf("OnBadLine(%q), want nothing but %q", line, lines)
		}
	}
}
