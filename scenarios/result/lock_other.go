//go:build !unix && !windows

package result

import "os"

// lock does nothing where there are no advisory locks.
func Lock(*os.File) bool { return true }

// lockedSurely reports false: there are no locks.
func lockedSurely(*os.File) bool { return false }
