//go:build goexperiment.jsonv2

// Package strictjson tells tests what encoding/json/jsontext, at its strictest, says of a text. That package exists only where
// GOEXPERIMENT=jsonv2 is on, hence the two files; nothing but tests imports this one.
package strictjson

import "encoding/json/jsontext"

// Known reports whether Valid has an answer.
const Known = true

// Valid reports whether text is one JSON text in valid UTF-8. Repeated members are allowed: they are no matter of the grammar
// (RFC 8259 section 4), and so not of a line's either.
func Valid(text []byte) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(false))
}
