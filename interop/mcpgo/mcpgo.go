// Package mcpgo puts framing under github.com/mark3labs/mcp-go, whose server and client each take a reader and a writer:
//
//	stream := mcpgo.Wrap(os.Stdin, os.Stdout, mcpgo.Options{})
//	err := server.NewStdioServer(srv).Listen(ctx, stream, stream)
//
//	stream := mcpgo.Wrap(childStdout, childStdin, mcpgo.Options{Quiet: true})
//	c := client.NewClient(transport.NewIO(stream, stream, nil))
//
// The child is the caller's to start and, after c.Close, to wait for: mcp-go's own transport takes no streams between.
//
// mcp-go then sees good messages only. It outlives bad lines by itself, but without bound on their length; reports none; loses a
// message after a BOM or without a final newline; and drops the requests in hand when its input ends.
package mcpgo

import (
	"io"

	"example.com/mcp/framing"
	"example.com/mcp/framing/interop/internal/link"
)

// Options are the settings of a Stream:
//
//	MaxLine      int                   // longest line accepted, in bytes; 0: 64 MiB; less: no limit
//	OnBadLine    func(framing.Message) // called for each line that mcp-go does not get to see; must not wait for mcp-go
//	Quiet        bool                  // a client's: do not answer bad lines, and tell the end of the input at once
//	DrainTimeout time.Duration         // how long the end of the input is held back for answers; 0: 5 s
//
// The Message of a batch, of a request whose id is still in hand, and of an error response under id null has no Err.
type Options = link.Options

// A Stream is what mcp-go reads from, writes to and closes. Read is for one goroutine, Write and Close for any.
type Stream struct {
	*link.Link        // Write and Close
	rest       []byte // of the frame being read
}

// Wrap returns a Stream over in and out. Closing it closes out, if out is an io.Closer, as does a write to out that fails. in
// is left open.
func Wrap(in io.Reader, out io.Writer, opts Options) *Stream {
	return &Stream{Link: link.New(in, out, opts)}
}

// Read implements io.Reader: good messages only, one a line.
func (s *Stream) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		m, err := s.Next()
		if err != nil {
			return 0, err
		}
		if s.rest, err = framing.Encode(m); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
