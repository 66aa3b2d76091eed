package scenarios

import (
	"fmt"
	"os"
	"testing"
)

func TestZZ(t *testing.T) {
	for _, n := range Embedded() {
		s, err := Load(n, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		fmt.Println(string(s.TOML()), s.Digest())
		s2, err := Parse("x.toml", s.TOML(), nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if string(s2.TOML()) != string(s.TOML()) {
			t.Error("rt")
		}
	}
	Reference(os.Stdout)
}
