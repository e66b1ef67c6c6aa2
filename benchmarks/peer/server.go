package peer

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"example.com/mcp/framing/stdio"
)

// Waiting is how many requests wait when a server's memory is measured.
const Waiting = 10_000

// ServerAllocs returns the allocations and the allocated bytes that a ping costs
// p's server, over n pings in this process, one after the other. What stands
// in for the client allocates nothing.
func ServerAllocs(p Peer, n int) (allocs, size float64, err error) {
	h := newHost()
	end := h.serve(p, func() {})
	h.ask(100, appendPing) // pools and buffers fill
	before := stats()
	h.ask(n, appendPing)
	after := stats()
	h.Close()
	return float64(after.Mallocs-before.Mallocs) / float64(n), float64(after.TotalAlloc-before.TotalAlloc) / float64(n), <-end
}

// ServerMemory returns the memory, heap and stacks, that each of Waiting requests
// takes in p's server while their handlers are held up, and how many handlers
// had begun.
func ServerMemory(p Peer) (perRequest float64, handlers int64, err error) {
	h := newHost()
	release := make(chan struct{})
	var running atomic.Int64
	end := h.serve(p, func() { running.Add(1); <-release })
	before := stats()
	h.send(Waiting, appendTool)
	time.Sleep(300 * time.Millisecond) // for all goroutines to come to rest
	after := stats()
	handlers = running.Load()
	close(release)
	h.await(Waiting)
	h.Close()
	return float64(memory(after)-memory(before)) / Waiting, handlers, <-end
}

// ClientMemory returns the memory, heap and stacks, that each of Waiting calls of
// this module's client takes, the goroutine that waits in it included.
func ClientMemory() (perCall float64, err error) {
	r, w := io.Pipe()
	conn := stdio.NewConn(r, io.Discard, nil, nil)
	end := make(chan error)
	go func() { end <- conn.Run(context.Background()) }()
	before := stats()
	var calls sync.WaitGroup
	for range Waiting {
		calls.Go(func() { conn.Call(context.Background(), "ping", nil, nil) })
	}
	for conn.Stats().Calls < Waiting {
		runtime.Gosched()
	}
	after := stats()
	w.Close()
	err = <-end
	calls.Wait()
	return float64(memory(after)-memory(before)) / Waiting, err
}

// host stands in for a client in this process: a server reads requests from it
// and writes answers to it.
type host struct {
	requests chan func([]byte, int) []byte // what Read gives, one at a time
	answers  chan struct{}                 // one for each line written
	close    sync.Once
	id       int
	line     []byte // storage of the request
	rest     []byte // what is left of it
}

func newHost() *host {
	return &host{requests: make(chan func([]byte, int) []byte), answers: make(chan struct{}, 2*Waiting)}
}

// serve starts p's server on h and makes it ready.
func (h *host) serve(p Peer, tool func()) (end chan error) {
	end = make(chan error, 1)
	go func() { end <- p.serve(h, h, "done", tool) }()
	h.ask(1, appendInitialize)
	h.send(1, appendInitialized)
	h.ask(1, appendPing)
	return end
}

// ask sends n requests, each when the one before is answered.
func (h *host) ask(n int, request func([]byte, int) []byte) {
	for range n {
		h.send(1, request)
		h.await(1)
	}
}

func (h *host) send(n int, request func([]byte, int) []byte) {
	for range n {
		h.requests <- request
	}
}

func (h *host) await(n int) {
	for range n {
		<-h.answers
	}
}

func (h *host) Read(p []byte) (int, error) {
	if len(h.rest) == 0 {
		request, ok := <-h.requests
		if !ok {
			return 0, io.EOF
		}
		h.id++
		h.line = request(h.line[:0], h.id)
		h.rest = h.line
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

func (h *host) Write(p []byte) (int, error) {
	for range bytes.Count(p, []byte{'\n'}) {
		h.answers <- struct{}{}
	}
	return len(p), nil
}

func (h *host) Close() error {
	h.close.Do(func() { close(h.requests) })
	return nil
}

func appendInitialize(line []byte, id int) []byte {
	return append(appendID(line, id), `,"method":"initialize","params":{"protocolVersion":"`+protocol+`","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}`+"\n"...)
}

func appendInitialized(line []byte, _ int) []byte {
	return append(line, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"...)
}

func appendPing(line []byte, id int) []byte {
	return append(appendID(line, id), `,"method":"ping"}`+"\n"...)
}

func appendTool(line []byte, id int) []byte {
	return append(appendID(line, id), `,"method":"tools/call","params":{"name":"text","arguments":{"query":"where the ladder ends"}}}`+"\n"...)
}

func appendID(line []byte, id int) []byte {
	return strconv.AppendInt(append(line, `{"jsonrpc":"2.0","id":`...), int64(id), 10)
}

func stats() (s runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s
}

func memory(s runtime.MemStats) int64 { return int64(s.HeapAlloc + s.StackInuse) }
