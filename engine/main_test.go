package engine_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain raises the number of random cases a property from rapid's 100: they are small. The flag -rapid.checks
// overrides it.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "400"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}
