// Package traffic makes MCP messages for benchmarks: newline-delimited
// JSON-RPC of the sizes and shapes that real sessions show, of invented
// content, and the same bytes for the same arguments every time.
package traffic

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Class names a kind of traffic. The sizes are those of one line.
type Class string

const (
	Small  Class = "small"  // requests, notifications and short results, 80 to 200 B
	Medium Class = "medium" // results of 0.5 to 8 KB: code, so escapes, quotes and non-ASCII text
	Schema Class = "schema" // tool lists of 20 to 60 KB
	Image  Class = "image"  // results with 1 MB of base64
	Text   Class = "text"   // results with 4 MB of prose
	Mix    Class = "mix"    // as in a session: nine of ten lines small, most bytes in the others
)

// Classes lists all classes, smallest lines first.
var Classes = []Class{Small, Medium, Schema, Image, Text, Mix}

// Order says where the id of a message stands.
type Order string

const (
	IDFirst Order = "id-first" // {"jsonrpc":"2.0","id":n,"method":…,"params":…}, as Go and Python peers write
	IDLast  Order = "id-last"  // {"method":…,"params":…,"jsonrpc":"2.0","id":n}, as TypeScript peers write
)

// Generate returns whole lines of class c, at least atLeast bytes of them.
func Generate(c Class, o Order, atLeast int) []byte {
	g := &generator{rnd: rand.New(rand.NewPCG(2, 2026)), order: o}
	for n := 0; g.out.Len() < atLeast; n++ {
		g.message(c, n)
	}
	return g.out.Bytes()
}

// Line returns one line of exactly size bytes, at least 128, without its
// newline: a result with a single long text of ASCII words, a line break every
// 80 bytes.
func Line(o Order, size int) []byte {
	empty := len(line(o, 0))
	return line(o, size-empty)
}

func line(o Order, text int) []byte {
	g := &generator{rnd: rand.New(rand.NewPCG(3, 2026)), order: o}
	g.result(func() { g.textContent(func() { g.filler(text) }) })
	return bytes.TrimSuffix(g.out.Bytes(), []byte("\n"))
}

// Content says what the text of a Result is.
type Content func(g *generator, size int)

var (
	Code  Content = (*generator).code  // an escape every 15 bytes
	Prose Content = (*generator).prose // an escape every 80 bytes, some non-ASCII
)

// Result returns the raw result of a tool call, compact, of about size bytes.
func Result(c Content, size int) []byte {
	g := &generator{rnd: rand.New(rand.NewPCG(4, 2026))}
	g.textContent(func() { c(g, max(size-40, 0)) })
	return g.out.Bytes()
}

// generator writes messages to out.
type generator struct {
	out   bytes.Buffer
	rnd   *rand.Rand
	order Order
	id    int // of the last request or response
}

// message writes the nth line of class c.
func (g *generator) message(c Class, n int) {
	switch c {
	case Small:
		g.small()
	case Medium:
		g.medium()
	case Schema:
		size := 20<<10 + g.rnd.IntN(38<<10)
		g.result(func() { g.tools(size) })
	case Image:
		g.result(func() { g.image(1 << 20) })
	case Text:
		g.result(func() { g.textContent(func() { g.prose(4 << 20) }) })
	case Mix:
		g.mixed(n)
	default:
		panic("traffic: unknown class " + string(c))
	}
}

// mixed writes the nth line of a session. Of a thousand lines 900 are small and
// hold a seventh of the bytes, as in recorded sessions.
func (g *generator) mixed(n int) {
	switch {
	case n%1000 == 500:
		g.result(func() { g.image(64 << 10) })
	case n%160 == 2:
		g.message(Schema, n)
	case n%11 == 5:
		g.medium()
	default:
		g.small()
	}
}

// small writes one short line of the kinds that make up most of a session.
func (g *generator) small() {
	switch p := g.rnd.IntN(100); {
	case p < 36:
		g.request("tools/call", g.callParams)
	case p < 42:
		g.request("resources/read", func() {
			g.printf(`{"uri":"file:///home/%s/%s/%s.md"}`, g.pick(words), g.pick(words), g.pick(words))
		})
	case p < 48:
		g.request("ping", func() { g.printf(`{"_meta":{"progressToken":%d}}`, g.id) })
	case p < 80:
		g.result(func() { g.textContent(func() { g.shortText(10 + g.rnd.IntN(60)) }) })
	case p < 84:
		g.result(func() {
			g.printf(`{"%s":%d,"isLast":%t,"cursor":"%s"}`, g.pick(words), g.rnd.IntN(1e6), p&1 == 0, g.pick(words))
		})
	case p < 88:
		g.failure()
	case p < 95:
		g.notification("notifications/progress", func() {
			g.printf(`{"progressToken":%d,"progress":%d,"total":100,"message":"%s"}`, g.id, g.rnd.IntN(100), g.pick(words))
		})
	default:
		g.notification("notifications/cancelled", func() {
			g.printf(`{"requestId":%d,"reason":"%s %s"}`, g.id, g.pick(words), g.pick(words))
		})
	}
}

// medium writes a result, or one in five times a request, that carries code.
func (g *generator) medium() {
	size := 400 + g.rnd.IntN(3600)
	if g.rnd.IntN(3) == 0 {
		size += g.rnd.IntN(4000)
	}
	if g.rnd.IntN(5) == 0 {
		g.request("tools/call", func() {
			g.printf(`{"name":"write_file","arguments":{"path":"/src/%s/%s.go","content":"`, g.pick(words), g.pick(words))
			g.code(size)
			g.printf(`"}}`)
		})
		return
	}
	g.result(func() { g.textContent(func() { g.code(size) }) })
}

// request writes a request whose params are what params writes.
func (g *generator) request(method string, params func()) {
	g.id++
	g.envelope(strconv.Itoa(g.id), func() {
		g.printf(`"method":"%s","params":`, method)
		params()
	})
}

// notification writes a notification whose params are what params writes.
func (g *generator) notification(method string, params func()) {
	g.envelope("", func() {
		g.printf(`"method":"%s","params":`, method)
		params()
	})
}

// result writes a response whose result is what result writes.
func (g *generator) result(result func()) {
	g.id++
	g.envelope(strconv.Itoa(g.id), func() {
		g.out.WriteString(`"result":`)
		result()
	})
}

// failure writes an error response.
func (g *generator) failure() {
	g.id++
	g.envelope(strconv.Itoa(g.id), func() {
		g.printf(`"error":{"code":%d,"message":"Unknown tool: %s_%s"}`, -32602, g.pick(words), g.pick(words))
	})
}

// envelope writes one line: the members that body writes, with the version and
// the id (none if id is empty) before or after them.
func (g *generator) envelope(id string, body func()) {
	if id != "" {
		id = `,"id":` + id
	}
	if g.order == IDFirst {
		g.out.WriteString(`{"jsonrpc":"2.0"` + id + `,`)
		body()
		g.out.WriteString("}\n")
		return
	}
	g.out.WriteString("{")
	body()
	g.out.WriteString(`,"jsonrpc":"2.0"` + id + "}\n")
}

// callParams writes the params of a short tool call.
func (g *generator) callParams() {
	g.printf(`{"name":"%s_%s","arguments":{"%s":"`, g.pick(words), g.pick(words), g.pick(words))
	g.shortText(8 + g.rnd.IntN(40))
	g.printf(`","%s":%d}}`, g.pick(words), g.rnd.IntN(1000))
}

// textContent writes a tool result of one text, which text writes.
func (g *generator) textContent(text func()) {
	g.out.WriteString(`{"content":[{"type":"text","text":"`)
	text()
	g.out.WriteString(`"}]}`)
}

// image writes a tool result with an image of about size bytes in base64.
func (g *generator) image(size int) {
	raw := make([]byte, size/4*3)
	for i := range raw {
		raw[i] = byte(g.rnd.Uint32())
	}
	g.printf(`{"content":[{"type":"image","data":"%s","mimeType":"image/png"}]}`, base64.StdEncoding.EncodeToString(raw))
}

// tools writes a tool list of about size bytes.
func (g *generator) tools(size int) {
	end := g.out.Len() + size
	g.out.WriteString(`{"tools":[`)
	for sep := ""; g.out.Len() < end; sep = "," {
		g.out.WriteString(sep)
		g.tool()
	}
	g.out.WriteString(`]}`)
}

// tool writes one tool with its input schema.
func (g *generator) tool() {
	g.printf(`{"name":"%s_%s_%s","title":"%s %s","description":"`, g.pick(words), g.pick(words), g.pick(words), g.pick(words), g.pick(words))
	g.sentence(60 + g.rnd.IntN(240))
	g.out.WriteString(`","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{`)
	first := g.pick(words)
	g.printf(`"%s":{"type":"string","description":"`, first)
	g.sentence(20 + g.rnd.IntN(80))
	g.out.WriteString(`"}`)
	for range g.rnd.IntN(6) {
		g.property()
	}
	g.printf(`},"required":["%s"],"additionalProperties":false},"annotations":{"readOnlyHint":%t,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`, first, g.rnd.IntN(2) == 0)
}

// property writes one further property of a schema.
func (g *generator) property() {
	g.printf(`,"%s_%s":`, g.pick(words), g.pick(words))
	switch g.rnd.IntN(4) {
	case 0:
		g.printf(`{"type":"integer","minimum":0,"maximum":%d,"default":%d,"description":"`, 1<<g.rnd.IntN(20), g.rnd.IntN(10))
	case 1:
		g.printf(`{"type":"string","enum":["%s","%s","%s"],"description":"`, g.pick(words), g.pick(words), g.pick(words))
	case 2:
		g.printf(`{"type":"array","items":{"type":"object","properties":{"%s":{"type":"string"},"%s":{"type":"number"}},"required":["%s"]},"description":"`, g.pick(words), g.pick(words), g.pick(words))
	default:
		g.out.WriteString(`{"type":"boolean","default":false,"description":"`)
	}
	g.sentence(20 + g.rnd.IntN(90))
	g.out.WriteString(`"}`)
}

// shortText writes about size bytes of one line of text. One in eight holds an
// escape, one in ten something beyond ASCII.
func (g *generator) shortText(size int) {
	end := g.out.Len() + size
	if g.rnd.IntN(8) == 0 {
		g.printf(`\"%s\"\n`, g.pick(words))
	}
	if g.rnd.IntN(10) == 0 {
		g.out.WriteString(g.pick(phrases))
	}
	g.fill(end)
}

// sentence writes about size bytes of a description. One in six quotes a word.
func (g *generator) sentence(size int) {
	end := g.out.Len() + size
	if g.rnd.IntN(6) == 0 {
		g.printf(`Uses \"%s\" if there is one. `, g.pick(words))
	}
	g.fill(end)
	g.out.WriteString(".")
}

// prose writes about size bytes in lines of 60 to 110 bytes; one in twelve holds
// a quotation, one in sixteen a phrase beyond ASCII.
func (g *generator) prose(size int) {
	for end := g.out.Len() + size; g.out.Len() < end; {
		if g.rnd.IntN(12) == 0 {
			g.printf(`\"%s\" `, g.pick(words))
		}
		if g.rnd.IntN(16) == 0 {
			g.out.WriteString(g.pick(phrases) + " ")
		}
		g.fill(g.out.Len() + 60 + g.rnd.IntN(50))
		g.out.WriteString(`.\n`)
	}
}

// filler writes exactly size bytes of ASCII words in lines of 80 bytes.
func (g *generator) filler(size int) {
	end := g.out.Len() + size
	for end-g.out.Len() > 100 {
		g.fill(g.out.Len() + 72)
		g.out.WriteString(`\n`)
	}
	g.out.WriteString(strings.Repeat("x", end-g.out.Len()))
}

// code writes about size bytes of program text as it stands in a JSON string:
// an escape about every 15 bytes, and a comment in some script now and then.
func (g *generator) code(size int) {
	depth := 1
	for end := g.out.Len() + size; g.out.Len() < end; {
		for range depth {
			g.out.WriteString(`\t`)
		}
		switch g.rnd.IntN(10) {
		case 0:
			g.printf(`if %s.%s != nil && len(%s) > %d {`, g.pick(words), g.pick(words), g.pick(words), g.rnd.IntN(100))
			depth = min(depth+1, 3)
		case 1:
			g.printf(`return fmt.Errorf(\"%s %s: %%w\", err)`, g.pick(words), g.pick(words))
			depth = max(depth-1, 1)
		case 2:
			g.printf(`// %s`, g.pick(phrases))
		case 3:
			g.printf(`%s[\"%s\"] = append(%s, \"%s\\n\")`, g.pick(words), g.pick(words), g.pick(words), g.pick(words))
		case 4:
			g.out.WriteString(`// `)
			g.fill(g.out.Len() + 20 + g.rnd.IntN(50))
		default:
			g.printf(`%s, err := %s.%s(ctx, %s, %s+%d)`, g.pick(words), g.pick(words), g.pick(words), g.pick(words), g.pick(words), g.rnd.IntN(5000))
		}
		g.out.WriteString(`\n`)
	}
}

// fill writes words, each with a space, until end is reached.
func (g *generator) fill(end int) {
	for g.out.Len() < end {
		g.out.WriteString(g.pick(words))
		g.out.WriteByte(' ')
	}
}

func (g *generator) pick(from []string) string { return from[g.rnd.IntN(len(from))] }

func (g *generator) printf(format string, args ...any) { fmt.Fprintf(&g.out, format, args...) }

var words = []string{
	"anchor", "basin", "candle", "delta", "ember", "folder", "granite", "harbor", "index", "journal",
	"kettle", "ladder", "meadow", "needle", "orbit", "packet", "quarry", "ribbon", "signal", "tunnel",
	"update", "valley", "window", "yield", "zone", "at", "by", "of", "to", "row", "key", "map", "list",
	"count", "offset", "length", "buffer", "status", "query", "result",
}

// phrases are in scripts of two, three and four bytes a character.
var phrases = []string{
	"Größe prüfen, dann überschreiben", "déjà vérifié à l'étape précédente", "проверить размер буфера",
	"先检查长度，再写入文件", "ここで残りを読み込む", "완료되면 다시 시도", "→ siehe § 4 – «später»", "done ✅ 🚀",
	"μέγεθος γραμμής", "لا تغيّر الترتيب",
}
