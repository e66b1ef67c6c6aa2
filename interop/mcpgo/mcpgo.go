// Package mcpgo puts framing under github.com/mark3labs/mcp-go, whose server and client each take a reader and a writer:
//
//	stream := mcpgo.Wrap(os.Stdin, os.Stdout, mcpgo.Options{})
//	err := server.NewStdioServer(srv).Listen(ctx, stream, stream)
//
//	stream := mcpgo.Wrap(childStdout, childStdin, mcpgo.Options{Quiet: true})
//	c := client.NewClient(transport.NewIO(stream, stream, childStderr))
//
// mcp-go then sees good messages only. It outlives bad lines by itself, but without bound on their length; reports none; loses a
// message after a BOM or without a final newline; and drops the requests in hand when its input ends.
package mcpgo

import (
	"io"

	"example.com/mcp/framing"
	"example.com/mcp/framing/interop/internal/link"
)

// Options are MaxLine, OnBadLine, Quiet and DrainTimeout. A client needs Quiet.
type Options = link.Options

// A Stream is what mcp-go reads from, writes to and closes. Read is for one goroutine, Write and Close for any.
type Stream struct {
	*link.Link        // Write and Close
	rest       []byte // of the frame being read
}

// Wrap returns a Stream over in and out. Closing it closes out, if out is an io.Closer.
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
