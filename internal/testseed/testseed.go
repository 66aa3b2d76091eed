// Package testseed makes the drawn cases of property tests the same in every run, so that a test that passes goes on
// passing until the code changes, and 40 of each, with -long 100. A test package imports it for that effect alone. To
// draw others:
//
//	go test ./policies/routing -rapid.seed=0 -rapid.checks=2000
//
// It lets the garbage of tests lie longer, too: they run thousands of short cases, and collecting between them took a
// tenth of their time.
package testseed

import (
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	_ "pgregory.net/rapid" // which defines the flag
)

func init() {
	set("rapid.seed", "1")
	all := func(arg string) bool { // flags are not read yet; of short tests rapid takes a fifth
		arg = strings.TrimLeft(arg, "-")
		return strings.HasPrefix(arg, "long") || strings.HasPrefix(arg, "test.short")
	}
	if !slices.ContainsFunc(os.Args, all) {
		set("rapid.checks", "40")
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(400 << 20) // near it as often as needed
	}
	if !slices.ContainsFunc(os.Args, func(arg string) bool { return strings.Contains(arg, "memprofile") }) {
		runtime.MemProfileRate = 0 // every collection sums up what nobody reads
	}
}

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}
