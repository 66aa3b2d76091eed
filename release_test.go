package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"sim/scenarios/result"
)

var notices = flag.Bool("notices", false, "write THIRD-PARTY.txt")

func text(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestChangelog: every version of the models and of sim has its entry, the latest first.
func TestChangelog(t *testing.T) {
	log := text(t, "CHANGELOG.md")
	last := -1
	for model := result.Model; model >= 1; model-- {
		at := strings.Index(log, fmt.Sprintf("\n**Models %d.** ", model))
		if at <= last {
			t.Errorf("CHANGELOG.md: no entry of models %d behind those of later ones", model)
		}
		last = at
	}
	if strings.Contains(log, fmt.Sprintf("**Models %d.**", result.Model+1)) {
		t.Errorf("CHANGELOG.md tells of models %d; these are %d", result.Model+1, result.Model)
	}
	if first := regexp.MustCompile(`(?m)^## (.*)$`).FindStringSubmatch(log); first == nil || first[1] != result.Version {
		t.Errorf("CHANGELOG.md begins with %q, this is %s", first, result.Version)
	}
}

// TestCitation: what is cited is this version.
func TestCitation(t *testing.T) {
	var c struct {
		CFF     string `yaml:"cff-version"`
		Message string
		Title   string
		Type    string
		Version string
		License string
		Authors []struct{ Name string }
		Words   []string `yaml:"keywords"`
	}
	strict(t, "CITATION.cff", &c)
	if c.CFF != "1.2.0" || c.Message == "" || c.Title == "" || c.Type != "software" || len(c.Authors) == 0 || c.License != "Apache-2.0" || c.Version != result.Version {
		t.Errorf("CITATION.cff of version %s, models %d: %+v", result.Version, result.Model, c)
	}
}

// strict reads YAML into v, which has all keys that may be there.
func strict(t *testing.T, file string, v any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text(t, file)))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// TestReleaseConfiguration: what goreleaser is to build are main packages of systems that Go has, and the files that
// it packs are there. It knows more of its file, and what the builds make, go build tells.
func TestReleaseConfiguration(t *testing.T) {
	type build struct {
		ID, Main, Binary string
		Env, Flags, Tags []string
		Timestamp        string `yaml:"mod_timestamp"`
		Goos, Goarch     []string
	}
	var c struct {
		Version int
		Project string `yaml:"project_name"`
		Builds  []build
		Archive []struct {
			ID      string
			IDs     []string
			Formats []string
			Name    string `yaml:"name_template"`
			Other   []struct {
				Goos    string
				Formats []string
			} `yaml:"format_overrides"`
			Files []string
		} `yaml:"archives"`
		Checksum struct {
			Name string `yaml:"name_template"`
		}
		Changelog struct{ Disable bool }
	}
	strict(t, ".goreleaser.yaml", &c)
	known, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var ids, of []string
	for _, b := range c.Builds {
		ids = append(ids, b.ID)
		for _, goos := range b.Goos {
			for _, goarch := range b.Goarch {
				if !bytes.Contains(known, []byte("\n"+goos+"/"+goarch+"\n")) {
					t.Errorf("%s: no %s/%s", b.ID, goos, goarch)
				}
			}
		}
	}
	for _, a := range c.Archive {
		of = append(of, a.IDs...)
		for _, file := range a.Files {
			text(t, file)
		}
	}
	if c.Version != 2 || len(ids) == 0 || !slices.Equal(ids, of) {
		t.Errorf("builds %v, archives of %v", ids, of)
	}
}

// TestContainerfile: what it copies and builds is there, with the Go that go.mod asks for.
func TestContainerfile(t *testing.T) {
	file := text(t, "Containerfile")
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(text(t, "go.mod"))[1]
	if !strings.Contains(file, "golang:"+want+"-") {
		t.Errorf("Containerfile does not begin with Go %s", want)
	}
	for _, name := range regexp.MustCompile(`/src/([\w.-]+)`).FindAllStringSubmatch(file, -1) {
		text(t, name[1])
	}
}

// TestNotebook: docs/metrics.ipynb was executed from its first cell to its last without an error, and what it reads has
// the columns that it names.
func TestNotebook(t *testing.T) {
	var book struct {
		Cells []struct {
			Type    string `json:"cell_type"`
			Count   int    `json:"execution_count"`
			Source  []string
			Outputs []struct {
				Type string `json:"output_type"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text(t, "docs/metrics.ipynb")), &book); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range book.Cells {
		if c.Type != "code" {
			continue
		}
		if n++; c.Count != n {
			t.Errorf("cell %d was run as number %d", n, c.Count)
		}
		for _, o := range c.Outputs {
			if o.Type == "error" {
				t.Errorf("cell %d failed", n)
			}
		}
	}
	if n < 3 {
		t.Errorf("%d cells of code", n)
	}
}

// TestNotices: THIRD-PARTY.txt has the licences of all modules that are in a program of any build.
func TestNotices(t *testing.T) {
	var all bytes.Buffer
	all.WriteString("What is in the program beside sim, and under which licences. make notices writes this file. The\nGo standard library is under the licence of golang.org/x/sys, which is below.\n")
	dirs := map[string]string{}
	var names []string
	for _, goos := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-tags", "nats", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", ".")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		list, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(list)) {
			name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t")
			if ok && dirs[name] == "" {
				dirs[name] = dir
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		found := false
		entries, err := os.ReadDir(dirs[name])
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			upper := strings.ToUpper(e.Name())
			if e.IsDir() || !slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"}, func(p string) bool { return strings.HasPrefix(upper, p) }) {
				continue
			}
			found = true
			fmt.Fprintf(&all, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), name, e.Name(), strings.TrimSpace(strings.ReplaceAll(text(t, filepath.Join(dirs[name], e.Name())), "\r\n", "\n")))
		}
		if !found {
			t.Errorf("%s has no licence", name)
		}
	}
	embedded, err := exec.Command("git", "ls-files", "*LICENSE*").Output()
	if err != nil {
		t.Skip("no git: ", err)
	}
	for file := range strings.FieldsSeq(string(embedded)) {
		if file != "LICENSE" {
			fmt.Fprintf(&all, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), file, strings.TrimSpace(text(t, file)))
		}
	}
	if *notices {
		if err := os.WriteFile("THIRD-PARTY.txt", all.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if text(t, "THIRD-PARTY.txt") != all.String() {
		t.Error("THIRD-PARTY.txt is stale: make notices")
	}
}
