package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sim/scenarios"
)

// TestAnnounceRun: a message with the estimated time precedes a long simulation, and no other. It
// names level flow unless the scenario has keys of packets.
func TestAnnounceRun(t *testing.T) {
	const text = "name = \"a2a\"\n[workload]\nkind = \"all-to-all\"\nmessage = \"1MB\"\n" +
		"[fabric]\nkind = \"torus\"\ndims = [8, 8, 8]\n[policy]\nrouters = [\"dor\"]\n[engine]\nlevel = \"packet\"\n"
	file := filepath.Join(t.TempDir(), "a2a.toml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	const hint = "--set engine.level=flow"
	for _, c := range []struct {
		set  string
		want []string // parts of the message; nil means no message
	}{
		{"engine.level=packet", []string{"a2a: each policy takes about", "at level packet", hint}},
		{"workload.packet=2KB", []string{"at level packet"}},
		{"engine.level=flow", nil},
		{"fabric.dims=[2, 2, 2]", nil},
	} {
		s, err := scenarios.Load(file, []string{c.set})
		if err != nil {
			t.Fatal(err)
		}
		cmd, _, stderr := newBufferedCommand()
		cmd.announceRun(t.Context(), &preparedRun{scenario: s, file: file, overrides: []string{c.set}})
		got := stderr.String()
		if (got == "") != (c.want == nil) || c.set == "workload.packet=2KB" && strings.Contains(got, hint) {
			t.Errorf("%s: %q", c.set, got)
		}
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q, want %q", c.set, got, part)
			}
		}
	}
}
