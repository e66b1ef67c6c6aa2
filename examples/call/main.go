// Call starts an MCP server and shows its tools, or calls one of them:
//
//	call -- COMMAND ARGS...
//	call -tool NAME -args JSON -- COMMAND ARGS...
//
// What it tells in the server's words has the control characters escaped, so that a server cannot paint the terminal. The
// text of a result goes to stdout as it is, and the server's stderr to stderr.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"text/tabwriter"
)

type object = map[string]any

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the server to end
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "call:", cleanLines(err.Error()))
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: call [-tool NAME [-args JSON]] -- COMMAND ARGS...")

func run(ctx context.Context, args []string, out, errs io.Writer) error {
	flags := flag.NewFlagSet("call", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	tool := flags.String("tool", "", "")
	text := flags.String("args", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() == 0 {
		return errUsage
	}
	arguments := object{}
	switch {
	case *text == "":
	case *tool == "":
		return fmt.Errorf("-args without -tool; %w", errUsage)
	case json.Unmarshal([]byte(*text), &arguments) != nil || arguments == nil:
		return fmt.Errorf("-args is not a JSON object: %s; %w", *text, errUsage)
	}
	s, err := connect(ctx, exec.Command(flags.Arg(0), flags.Args()[1:]...), errs)
	if err != nil {
		return err
	}
	var shown bytes.Buffer
	if *tool == "" {
		err = list(ctx, s, &shown)
	} else {
		err = call(ctx, s, *tool, json.RawMessage(*text), &shown)
	}
	s.Close() // first: a result passes the progress that came before it, and Close waits until that is shown
	shown.WriteTo(out)
	return err
}

// list prints a table of all tools, page by page.
func list(ctx context.Context, s *server, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOOL\tDESCRIPTION")
	seen := map[string]bool{"": true} // cursors; a server that repeats one would go on for ever
	for params := (object{}); ; {
		var page struct {
			Tools      []struct{ Name, Description string }
			NextCursor string
		}
		if err := s.request(ctx, "tools/list", params, &page); err != nil {
			return err
		}
		for _, tool := range page.Tools {
			first, _, _ := strings.Cut(strings.TrimSpace(tool.Description), "\n")
			fmt.Fprintf(table, "%s\t%.100s\n", clean(tool.Name), clean(first))
		}
		if page.NextCursor == "" {
			return table.Flush()
		}
		if seen[page.NextCursor] {
			return fmt.Errorf("tools/list: the cursor %q comes twice", page.NextCursor)
		}
		seen[page.NextCursor] = true
		params = object{"cursor": page.NextCursor}
	}
}

// block is one part of a tool's result.
type block struct {
	Type, Text, MimeType, URI string
	Resource                  struct{ URI, MimeType, Text string }
}

// call calls a tool and prints the text of its result.
func call(ctx context.Context, s *server, tool string, arguments json.RawMessage, out io.Writer) error {
	params := object{"name": tool}
	if len(arguments) > 0 {
		params["arguments"] = arguments
	}
	var result struct {
		Content           []block
		StructuredContent json.RawMessage
		IsError           bool
		ResultType        string
		InputRequests     json.RawMessage
	}
	if err := s.request(ctx, "tools/call", params, &result); err != nil {
		return err
	}
	if result.ResultType == "input_required" { // since MCP 2026-07-28, instead of a request of the server's own
		return fmt.Errorf("%s asks for what this client cannot give: %.500s", tool, result.InputRequests)
	}
	for _, b := range result.Content {
		fmt.Fprintln(out, b)
	}
	if len(result.Content) == 0 && result.StructuredContent != nil {
		fmt.Fprintf(out, "%s\n", result.StructuredContent)
	}
	if result.IsError {
		return fmt.Errorf("%s failed", tool)
	}
	return nil
}

// String returns the text of b, or in brackets what it is.
func (b block) String() string {
	r := b.Resource
	switch {
	case b.Type == "text":
		return b.Text
	case r.Text != "":
		return r.Text
	}
	words := strings.Fields(clean(strings.Join([]string{b.Type, b.MimeType, r.MimeType, b.URI, r.URI}, " ")))
	return "(" + strings.Join(words, " ") + ")"
}

// clean returns s with everything escaped that is not printable, line ends too.
func clean(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// cleanLines does the same to each line of s.
func cleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	return strings.Join(lines, "\n")
}
