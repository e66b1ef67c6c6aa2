package rough

import (
	"fmt"
	"strings"
)

// Table returns what the peers do, as two Markdown tables: on input from clients, and from servers.
func Table() string {
	var b strings.Builder
	b.WriteString("| a client sends | framing, stdio | go-sdk | mcp-go | TypeScript |\n|---|---|---|---|---|\n")
	for _, c := range Cases {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.Name, cell(c.Want, c.Want), cell(c.GoSDK, c.Want), cell(c.MCPGo, c.Want), cell(c.TS, c.Want))
	}
	b.WriteString("\n| a server | framing, stdio | go-sdk | mcp-go | TypeScript |\n|---|---|---|---|---|\n")
	for _, h := range Habits {
		ts := fmt.Sprint(h.TS)
		if h.TSCloses {
			ts = "0 or 1, and closes"
		}
		fmt.Fprintf(&b, "| %s | %d of 2 | %d | %d | %s |\n", h.Name, h.Want, h.GoSDK, h.MCPGo, ts)
	}
	return b.String()
}

// cell returns answers for a table; bold if they are not want.
func cell(answers, want []string) string {
	text := strings.Join(answers, "; ")
	if text == "" {
		text = "no answer"
	}
	if strings.Join(answers, "; ") != strings.Join(want, "; ") {
		return "**" + text + "**"
	}
	return text
}
