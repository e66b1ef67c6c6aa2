//go:build unix && !linux && !solaris && !illumos

package stdio

import (
	"os"
	"syscall"
)

// dup2 makes to a copy of from.
func dup2(from, to int) error {
	return os.NewSyscallError("dup2", syscall.Dup2(from, to))
}
