package observe

import "strings"

// A Redactor masks the values in a stream of lines and leaves everything else
// where it is: sizes, structure, member names, and of the envelope jsonrpc, id,
// method, an error's code and a cancellation's requestId, without which nothing
// could be told. Text that is no JSON loses its letters and digits. It works byte by
// byte, so a stream may be cut anywhere; of broken JSON it shows what stands in
// a name's place, though no colon comes behind it.
//
// What stays visible of a value: its length, its type, true from false, and
// whether its UTF-8 was valid (but for overlong forms and surrogates).
type Redactor struct {
	mode  redactMode
	depth int    // brackets open
	kinds []byte // '{' or '[' for each of them, up to maxRedactDepth
	name  []byte // the member name being read or last read, cut at maxRedactName
	key   bool   // the string at hand is a member name, or the next one will be
	value bool   // a name was read: after the colon comes its value
	keep  bool   // the value at hand is one of the envelope's
	in    string // the member of the message whose object is open: params, error, or another
	esc   bool   // a backslash came before
	begun bool   // the line's value has begun: behind it, outside of brackets, is text
	lit   string // the number ("1") or word at hand, as far as it was read
	n     int    // bytes of the line so far
}

type redactMode uint8

const (
	redactOutside redactMode = iota // between the strings of a JSON text
	redactString                    // inside one
	redactText                      // the line is no JSON: until its end
)

const (
	maxRedactDepth = 10_000 // as deep as a good line goes
	maxRedactName  = 16     // the longest that is compared is requestId
)

// Mask appends chunk, masked, to dst.
func (r *Redactor) Mask(dst, chunk []byte) []byte {
	for _, c := range chunk {
		dst = append(dst, r.mask(c))
	}
	return dst
}

func (r *Redactor) mask(c byte) byte {
	if c == '\n' {
		*r = Redactor{kinds: r.kinds[:0], name: r.name[:0]}
		return c
	}
	r.n++
	if r.n <= 3 && c == "\xEF\xBB\xBF"[r.n-1] {
		return c // a byte order mark is a finding, not a value
	}
	switch r.mode {
	case redactString:
		return r.inString(c)
	case redactText:
		return maskText(c)
	}
	return r.outside(c)
}

func (r *Redactor) outside(c byte) byte {
	if lit := r.lit; lit != "" {
		r.lit = ""
		if goesOn := r.literal(lit, c); goesOn != 0 {
			return goesOn
		}
		r.keep = false // one value: behind it a comma may be missing
	}
	switch c {
	case ' ', '\t', '\r':
	case '{', '[':
		r.open(c)
	case '}', ']':
		r.close()
	case ',':
		r.key = r.depth > 0 && r.kinds[r.depth-1] == '{'
		r.value, r.keep = false, false
	case ':':
		r.keep = r.value && r.kept()
	case '"':
		r.mode, r.begun = redactString, true
		if r.key {
			r.name = r.name[:0]
		}
	default:
		return r.begin(c)
	}
	return c
}

func (r *Redactor) open(c byte) {
	r.begun = true
	if r.depth >= maxRedactDepth {
		r.mode = redactText
		return
	}
	if r.level() == 1 {
		r.in = ""
		if r.value && c == '{' {
			r.in = string(r.name)
		}
	}
	r.kinds = append(r.kinds[:r.depth], c)
	r.depth++
	r.key, r.value, r.keep = c == '{', false, false
}

func (r *Redactor) close() {
	if r.depth == 0 {
		r.mode = redactText
		return
	}
	r.depth--
	r.key, r.value, r.keep = false, false, false
}

// begin masks the first byte of a number or of true, false, null. Whatever
// cannot stand there ends the JSON: the rest of the line is text.
func (r *Redactor) begin(c byte) byte {
	first := !r.begun
	r.begun = true
	if (r.depth > 0 || first) && !r.key {
		if out := r.literal("", c); out != 0 {
			return out
		}
	}
	r.mode = redactText
	return maskText(c)
}

// literal masks c, which comes after lit; it returns 0 if c does not go on
// with that number or word.
func (r *Redactor) literal(lit string, c byte) byte {
	digit := c >= '0' && c <= '9'
	switch {
	case digit && !r.keep && (lit == "" || lit == "1"):
		r.lit = "1"
		return '1'
	case digit || c == '-', lit == "1" && strings.IndexByte("+-.eE", c) >= 0:
		r.lit = "1"
		return c
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(word, lit+string(c)) {
			r.lit = word[:len(lit)+1]
			return c
		}
	}
	return 0
}

func (r *Redactor) inString(c byte) byte {
	if c == '"' && !r.esc {
		r.mode = redactOutside
		r.value, r.key, r.keep = r.key, false, false
		return c
	}
	r.esc = c == '\\' && !r.esc
	switch {
	case r.key:
		if len(r.name) <= maxRedactName {
			r.name = append(r.name, c)
		}
		return c
	case r.keep && r.shows(c), c < 0x20:
		return c
	case c < 0x80:
		return 'x'
	}
	return maskText(c)
}

// level returns how deep in the message the current place is: 1 is among its
// members.
func (r *Redactor) level() int {
	if r.depth > 0 && r.kinds[0] == '[' { // a batch
		return r.depth - 1
	}
	return r.depth
}

// kept reports whether the member just named is of the envelope.
func (r *Redactor) kept() bool {
	name := string(r.name)
	switch r.level() {
	case 1:
		return name == "jsonrpc" || name == "id" || name == "method"
	case 2:
		return name == "requestId" && r.in == "params" || name == "code" && r.in == "error"
	}
	return false
}

// shows reports whether c may be seen in the string that is a kept member's
// value: a version has no letters, and a code is no string.
func (r *Redactor) shows(c byte) bool {
	switch string(r.name) {
	case "jsonrpc":
		return c >= '0' && c <= '9' || c == '.'
	case "code":
		return false
	}
	return true
}

// maskText masks one byte and keeps valid UTF-8 valid: each byte becomes
// another one of its class.
func maskText(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return '1'
	case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		return 'x'
	case c < 0x80:
		return c
	case c < 0xC0:
		return 0xA0 // a continuation that may follow 0xE0 as well
	case c >= 0xC2 && c < 0xE0:
		return 0xC3
	case c >= 0xE0 && c < 0xF0:
		return 0xE1
	case c >= 0xF0 && c < 0xF5:
		return 0xF1
	}
	return 0xFF
}

// Gap takes note that a part of the stream is missing. What follows of a line
// that it cut is masked as text: where in the JSON it stands is not known.
func (r *Redactor) Gap(g Gap) {
	*r = Redactor{kinds: r.kinds[:0], name: r.name[:0]}
	if g.Inside {
		r.mode, r.n = redactText, 3
	}
}
