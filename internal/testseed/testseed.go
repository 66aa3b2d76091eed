// Package testseed makes the drawn cases of property tests the same in every run, so that a test that passes goes on
// passing until the code changes. A test package imports it for that effect alone. To draw others:
//
//	go test ./policies/routing -rapid.seed=0 -rapid.checks=2000
package testseed

import (
	"flag"

	_ "pgregory.net/rapid" // which defines the flag
)

func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}
