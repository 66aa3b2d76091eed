package scenarios

import (
	"strings"
	"testing"
)

// TestDeprecatedValues checks that a value that a deprecated key does not accept is rejected
// with the name of that key, not with its successor.
func TestDeprecatedValues(t *testing.T) {
	const text = "[fabric]\nkind=\"torus\"\ndims=[4,4]\n[workload]\nkind=\"ring-all-reduce\"\nmessage=\"1MB\"\n"
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
		if _, err := Parse("old.toml", []byte(text), sets); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("--set %s: got %v, want %q", set, err, want)
		}
	}
}
