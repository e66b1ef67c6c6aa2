//go:build goexperiment.jsonv2 && !go1.27

// Package strictjson tells tests what encoding/json/jsontext, at its strictest, says of a text; nothing but tests imports it. That
// package exists only where GOEXPERIMENT=jsonv2 is on. Of the two files that use it, equal but for their first line, one is for
// Go 1.27, where go vet asks that a file that uses it is written for 1.27 at least, and one for the Go before.
package strictjson

import (
	"encoding/json/jsontext"
	"unicode/utf8"
)

// Known reports whether Valid has an answer.
const Known = true

// Valid reports whether text is one JSON text in valid UTF-8. Repeated members are allowed, and so are lone surrogate escapes: neither
// is a matter of the grammar (RFC 8259 sections 4 and 8.2), and so not of a line's.
func Valid(text []byte) bool {
	return utf8.Valid(text) && jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
