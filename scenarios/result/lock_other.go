//go:build !unix && !windows

// This file replaces file locks on platforms that have none.

package result

import "os"

// Lock does nothing: the platform has no advisory locks.
func Lock(*os.File) bool { return true }

// lockIfSupported returns false: the platform has no locks.
func lockIfSupported(*os.File) bool { return false }
