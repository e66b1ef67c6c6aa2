//go:build !goexperiment.jsonv2

// Package strictjson tells tests what encoding/json/jsontext, at its strictest, says of a text; nothing but tests imports it. That
// package exists only where GOEXPERIMENT=jsonv2 is on. Of the two files that use it, equal but for their first line, one is for
// Go 1.27, where go vet asks that a file that uses it is written for 1.27 at least, and one for the Go before.
package strictjson

// Known reports whether Valid has an answer.
const Known = false

// Valid reports whether text is one JSON text in valid UTF-8. Here it does not know, and says so in Known.
func Valid(text []byte) bool { return false }
