//go:build !goexperiment.jsonv2

// Package strictjson tells tests what encoding/json/jsontext, at its strictest, says of a text. That package exists only where
// GOEXPERIMENT=jsonv2 is on, hence the two files; nothing but tests imports this one.
package strictjson

// Known reports whether Valid has an answer.
const Known = false

// Valid reports whether text is one JSON text in valid UTF-8. Here it does not know, and says so in Known.
func Valid(text []byte) bool { return false }
