// Package benchmarks measures this module beside others that do the same work.
// It is a module of its own, because everything in it that is not ours would
// else be a requirement of the module that it measures.
//
// The tables of the README come from cmd/table; the benchmarks here are for
// go test -bench and benchstat.
package benchmarks
