package scenarios

import (
	"slices"
	"testing"
)

// TestKeyParts checks how the dotted key of an override is split into its parts, with and
// without quotes.
func TestKeyParts(t *testing.T) {
	for name, want := range map[string][]string{
		"a":                  {"a"},
		" a . b ":            {"a", "b"},
		`policy."during+".d`: {"policy", "during+", "d"},
		`policy.during+.d`:   {"policy", "during+", "d"},
		`'a.b'.c`:            {"a.b", "c"},
		`a. "b" .c`:          {"a", "b", "c"},
		"":                   nil,
		"a.":                 nil,
		`a.""`:               nil,
		`a."b`:               nil,
		`a."b"c`:             nil,
		`a."b""c"`:           nil,
	} {
		parts, ok := splitKey(name)
		if ok != (want != nil) || ok && !slices.Equal(parts, want) {
			t.Errorf("%s: got %q, %v, want %q", name, parts, ok, want)
		}
	}
}
