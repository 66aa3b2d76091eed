package scenarios

import (
	"testing"
)

// TestDeprecatedValues checks that a value that a deprecated key does not accept is rejected
// with the name of that key, not with its successor.
func TestDeprecatedValues(t *testing.T) {
	const text = `[fabric]
kind="torus"
dims=[4,4]
[workload]
kind="ring-all-reduce"
message="1MB"
`

	for set, want := range map[string]string{
		"":                                  "",
		"workload.bidirectional=false":      "",
		`workload.bidirectional="no"`:       "write true or false",
		`workload.rings="some"`:             "workload.rings",
		`workload.ring_form="figure-eight"`: "workload.ring_form",
	} {
		var sets []string
		if set != "" {
			sets = []string{set}
		}
		_, err := Parse("old.toml", []byte(text), sets)
		checkError(t, err, want, set)
	}
}
