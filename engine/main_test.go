package engine_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain raises the number of random cases per property from rapid's default of 100, because
// the cases are small. The flag -rapid.checks overrides it.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "400"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}
