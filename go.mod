module example.com/mcp/framing

go 1.25
