// Package testseed makes property tests reproducible: they draw the same cases in every run,
// so a test that passes keeps passing until the code changes. Each property is tested with 40
// cases, and with 100 if -long is set. A test package imports testseed for this side effect.
// To draw other cases:
//
//	go test ./policies/routing -rapid.seed=0 -rapid.checks=2000
//
// The package also makes garbage collection less frequent, because tests run thousands of
// short cases and collecting garbage between them takes a tenth of their time.
package testseed

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	_ "pgregory.net/rapid" // defines the flags
)

func init() {
	set("rapid.seed", "1")
	all := func(arg string) bool { // flags are not parsed yet; with -short, rapid itself uses a fifth of the cases
		arg = strings.TrimLeft(arg, "-")
		return strings.HasPrefix(arg, "long") || strings.HasPrefix(arg, "test.short")
	}
	if !slices.ContainsFunc(os.Args, all) {
		set("rapid.checks", "40")
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(400 << 20) // near the limit, collect as often as needed
	}
	if !slices.ContainsFunc(os.Args, func(arg string) bool { return strings.Contains(arg, "memprofile") }) {
		runtime.MemProfileRate = 0 // no memory profile is written, and each collection would aggregate one
	}
}

// set sets a flag; it panics if the flag is not defined.
func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}
