//go:build !linux

package main

// onHangup does nothing here: that the host has gone is seen when we read from
// it or write to it.
func onHangup(any, func()) {}
