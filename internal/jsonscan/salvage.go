package jsonscan

import "bytes"

// maxSalvage is the longest id and the longest method that Salvage keeps, in
// bytes as they are written: of an id with its quotes, of a method without.
const maxSalvage = 1024

// Salvage watches the bytes of a line that is too long to be kept and notes
// its id and method, and which other members it has, wherever they stand. Its
// memory is bounded: maxSalvage bytes and a few words. The zero value is
// ready.
//
// It follows strings, brackets and the names of the outermost object, and does
// not check the rest: the line is refused anyway. What it returns has been
// checked.
type Salvage struct {
	state  func(*Salvage, []byte) int // reads some bytes, returns how many; nil: the beginning
	depth  int                        // open brackets inside the outermost object
	quoted bool                       // inside a string of a nested value
	escape bool                       // the previous byte was an unescaped backslash
	member Member                     // whose value is being read; -1: none of the envelope's
	keep   bool                       // text is being collected
	text   []byte                     // the name, id or method being read
	values [NumMembers][]byte         // non-nil: seen; kept for ID and Method alone
}

// Write takes the next bytes of the line.
func (s *Salvage) Write(p []byte) {
	for len(p) > 0 {
		if s.state == nil {
			s.state = (*Salvage).begin
		}
		p = p[s.state(s, p):]
	}
}

// ID returns the id, if it is a string or a number, else nil.
func (s *Salvage) ID() []byte {
	id := s.values[ID]
	if len(id) == 0 || len(id) > maxSalvage || !(id[0] == '"' || id[0] == '-' || isDigit(id[0])) || !isJSON(id) {
		return nil
	}
	return id[:len(id):len(id)]
}

// Method returns the method, if it is a string, else "".
func (s *Salvage) Method() string {
	m := s.values[Method]
	if len(m) == 0 || m[0] != '"' || !isJSON(m) {
		return ""
	}
	return Unquote(m)
}

// Has reports whether the outermost object has m.
func (s *Salvage) Has(m Member) bool { return s.values[m] != nil }

func isJSON(b []byte) bool { return Scan(b, len(b), new(Doc)).Code == OK }

func (s *Salvage) begin(p []byte) int {
	switch p[0] {
	case ' ', '\t', '\r':
	case '{':
		s.state = (*Salvage).beforeName
	default:
		s.state = (*Salvage).rest
	}
	return 1
}

// rest reads what tells nothing more: no object, or the bytes behind it.
func (s *Salvage) rest(p []byte) int { return len(p) }

func (s *Salvage) beforeName(p []byte) int {
	switch p[0] {
	case ' ', '\t', '\r', ',':
	case '"':
		s.collect(p[:1])
		s.state = (*Salvage).name
	default:
		s.state = (*Salvage).rest
	}
	return 1
}

func (s *Salvage) name(p []byte) int {
	n, done := s.str(p)
	if done {
		s.member = -1
		if s.keep {
			s.member = lookup(s.text)
		}
		s.state = (*Salvage).colon
	}
	return n
}

func (s *Salvage) colon(p []byte) int {
	switch p[0] {
	case ' ', '\t', '\r':
	case ':':
		s.state = (*Salvage).beforeValue
	default:
		s.state = (*Salvage).rest
	}
	return 1
}

func (s *Salvage) beforeValue(p []byte) int {
	switch p[0] {
	case ' ', '\t', '\r':
	case '"':
		s.collect(p[:1])
		s.state = (*Salvage).stringValue
	case '{', '[':
		s.keep = false
		s.depth = 1
		s.state = (*Salvage).nested
	default:
		s.collect(nil)
		s.state = (*Salvage).bareValue
		return 0
	}
	return 1
}

func (s *Salvage) stringValue(p []byte) int {
	n, done := s.str(p)
	if done {
		s.note()
	}
	return n
}

// nested reads an array or object, of which only the end is of interest.
func (s *Salvage) nested(p []byte) int {
	for i := 0; i < len(p); i++ {
		if s.quoted {
			n, done := s.str(p[i:])
			s.quoted = !done
			i += n - 1
			continue
		}
		switch p[i] {
		case '"':
			s.quoted = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth == 0 {
				s.note()
				return i + 1
			}
		}
	}
	return len(p)
}

// bareValue reads a number or a word. Only what follows shows that it is over.
func (s *Salvage) bareValue(p []byte) int {
	n := bytes.IndexAny(p, " \t\r,}")
	if n < 0 {
		s.add(p)
		return len(p)
	}
	s.add(p[:n])
	s.note()
	return n
}

func (s *Salvage) afterValue(p []byte) int {
	switch p[0] {
	case ' ', '\t', '\r':
	case ',':
		s.state = (*Salvage).beforeName
	default:
		s.state = (*Salvage).rest
	}
	return 1
}

// note ends a value. Of a repeated member the first counts; params that are null
// are none.
func (s *Salvage) note() {
	s.state = (*Salvage).afterValue
	if s.member == Params && s.keep && string(s.text) == "null" {
		return
	}
	if s.member < 0 || s.values[s.member] != nil {
		return
	}
	s.values[s.member] = []byte{}
	if s.keep && (s.member == ID || s.member == Method) {
		s.values[s.member] = bytes.Clone(s.text)
	}
}

// str reads on in a string and reports how far, and whether it ends there.
func (s *Salvage) str(p []byte) (n int, done bool) {
	for n < len(p) && !done {
		if s.escape {
			s.escape = false
			n++
			continue
		}
		if n += new(scanner).plain(p[n:], 0); n == len(p) {
			break
		}
		s.escape, done = p[n] == '\\', p[n] == '"'
		n++
	}
	s.add(p[:n])
	return n, done
}

// collect begins a new text with first, if it is of interest.
func (s *Salvage) collect(first []byte) {
	s.keep = true
	s.text = append(s.text[:0], first...)
}

// add goes on with the text, and gives it up where it grows too long.
func (s *Salvage) add(p []byte) {
	if s.keep = s.keep && len(s.text)+len(p) <= maxSalvage+len(`""`); s.keep {
		s.text = append(s.text, p...)
	}
}
