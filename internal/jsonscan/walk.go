package jsonscan

import (
	"bytes"
	"iter"
)

// Elements returns an iterator over the elements of an array that Scan has
// passed. It ends where the text has been changed since and is none any more.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var s scanner
		i := s.space(array, bytes.IndexByte(array, '[')+1)
		for i < len(array) && array[i] != ']' {
			at := i
			i = s.value(array, i, 0)
			if i < 0 || !yield(array[at:i:i]) {
				return
			}
			i = s.comma(array, i)
		}
	}
}

// Fields returns an iterator over the names, as they are quoted, and values of
// an object that Scan has passed.
func Fields(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		var s scanner
		i := s.space(object, bytes.IndexByte(object, '{')+1)
		for i < len(object) && object[i] != '}' {
			end := s.str(object, i+1)
			at := s.colon(object, end)
			name := object[i:end:end]
			i = s.value(object, at, 0)
			if !yield(name, object[at:i:i]) {
				return
			}
			i = s.comma(object, i)
		}
	}
}

// comma returns the offset of the value or bracket behind b[i:]'s white space
// and comma.
func (s *scanner) comma(b []byte, i int) int {
	if i = s.space(b, i); i < len(b) && b[i] == ',' {
		return s.space(b, i+1)
	}
	return i
}

// NameIs reports whether quoted, a JSON string that Scan has passed, is name,
// which needs no escapes.
func NameIs(quoted []byte, name string) bool {
	return string(quoted[1:len(quoted)-1]) == name ||
		bytes.IndexByte(quoted, '\\') >= 0 && Unquote(quoted) == name
}

// IsTooDeep reports whether b, a JSON text, is nested deeper than MaxDepth. Few
// texts have brackets enough to need a closer look.
func IsTooDeep(b []byte) bool {
	if len(b) <= 2*MaxDepth || bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) <= MaxDepth {
		return false
	}
	s := scanner{end: len(b)}
	return s.text(b) < 0 && s.fault.Code == TooDeep
}
