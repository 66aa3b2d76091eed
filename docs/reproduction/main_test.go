package main

import (
	"os"
	"strings"
	"testing"
)

func TestBetween(t *testing.T) {
	text := "a\n<!-- x -->\nold\n<!-- end -->\nb\n<!-- y -->\nkept\n<!-- end -->\n"
	got, err := between([]byte(text), "x", "new\n")
	if want := strings.Replace(text, "old", "new", 1); err != nil || string(got) != want {
		t.Errorf("%q (%v), want %q", got, err, want)
	}
	for _, name := range []string{"z", "old"} {
		if _, err := between([]byte(text), name, "new\n"); err == nil {
			t.Errorf("marks of %s were found", name)
		}
	}
}

// TestMarks: the document has the marks of every table.
func TestMarks(t *testing.T) {
	text, err := os.ReadFile("../reproduction.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if _, err := between(text, table.name, ""); err != nil {
			t.Error(err)
		}
	}
}
