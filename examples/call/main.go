// Call starts an MCP server and shows its tools, or calls one of them:
//
//	call -- COMMAND ARGS...
//	call -tool NAME -args JSON -- COMMAND ARGS...
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"text/tabwriter"

	"example.com/mcp/framing"
	"example.com/mcp/framing/stdio"
)

type object = map[string]any

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "call:", err)
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
	arguments := flags.String("args", "{}", "")
	if err := flags.Parse(args); err != nil || flags.NArg() == 0 {
		return errUsage
	}
	if json.Unmarshal([]byte(*arguments), &object{}) != nil {
		return fmt.Errorf("-args is not a JSON object: %s\n%w", *arguments, errUsage)
	}
	c, err := connect(ctx, exec.Command(flags.Arg(0), flags.Args()[1:]...), errs)
	if err != nil {
		return err
	}
	defer c.Close()
	if *tool == "" {
		return list(ctx, c, out)
	}
	return call(ctx, c, *tool, json.RawMessage(*arguments), out)
}

// connect starts a server and initializes it.
func connect(ctx context.Context, cmd *exec.Cmd, errs io.Writer) (*stdio.Client, error) {
	c, err := stdio.Start(ctx, cmd, handler(errs).Handle, &stdio.Options{
		Stderr:    errs,
		OnBadLine: func(m framing.Message) { fmt.Fprintf(errs, "not a message: %.200s\n", m.Line) },
	})
	if err != nil {
		return nil, err
	}
	var server struct {
		ServerInfo struct{ Name, Version string }
	}
	err = c.Call(ctx, "initialize", object{"protocolVersion": "2025-11-25", "capabilities": object{},
		"clientInfo": object{"name": "call", "version": "1.0.0"}}, &server)
	if err == nil {
		err = c.Notify(ctx, "notifications/initialized", nil)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	fmt.Fprintln(errs, "server:", server.ServerInfo.Name, server.ServerInfo.Version)
	return c, nil
}

// handler answers what a server may ask any client, and shows what it tells.
func handler(errs io.Writer) stdio.Methods {
	return stdio.Methods{
		"ping": func(context.Context, *stdio.Request) (any, error) { return object{}, nil },
		"notifications/progress": func(_ context.Context, req *stdio.Request) (any, error) {
			var p struct {
				Progress, Total json.Number
				Message         string
			}
			err := req.Bind(&p)
			fmt.Fprintf(errs, "progress: %s of %s %s\n", p.Progress, p.Total, p.Message)
			return nil, err
		},
	}
}

// list prints a table of all tools, page by page.
func list(ctx context.Context, c *stdio.Client, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOOL\tDESCRIPTION")
	for cursor := (object{}); ; {
		var page struct {
			Tools      []struct{ Name, Description string }
			NextCursor string
		}
		if err := c.Call(ctx, "tools/list", cursor, &page); err != nil {
			return err
		}
		for _, tool := range page.Tools {
			first, _, _ := strings.Cut(strings.TrimSpace(tool.Description), "\n")
			fmt.Fprintf(table, "%s\t%.100s\n", tool.Name, first)
		}
		if page.NextCursor == "" {
			break
		}
		if page.NextCursor == cursor["cursor"] {
			return fmt.Errorf("tools/list: the page after cursor %q is itself", page.NextCursor)
		}
		cursor = object{"cursor": page.NextCursor}
	}
	return table.Flush()
}

// call calls a tool and prints the text of its result.
func call(ctx context.Context, c *stdio.Client, tool string, arguments json.RawMessage, out io.Writer) error {
	var result struct {
		Content []struct{ Type, Text, MimeType string }
		IsError bool
	}
	err := c.Call(ctx, "tools/call", object{"name": tool, "arguments": arguments, "_meta": object{"progressToken": 1}}, &result)
	if err != nil {
		return err
	}
	for _, block := range result.Content {
		if block.Type == "text" {
			fmt.Fprintln(out, block.Text)
		} else {
			fmt.Fprintf(out, "(%s %s)\n", block.Type, block.MimeType)
		}
	}
	if result.IsError {
		return fmt.Errorf("%s failed", tool)
	}
	return nil
}
