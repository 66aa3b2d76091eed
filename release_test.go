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

// notices makes TestNotices write THIRD-PARTY.txt.
var notices = flag.Bool("notices", false, "write THIRD-PARTY.txt")

// readFile returns the content of a file.
func readFile(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestChangelog checks that CHANGELOG.md has an entry for each version of the models, latest
// first, and starts with this version of sim.
func TestChangelog(t *testing.T) {
	log := readFile(t, "CHANGELOG.md")
	last := -1
	for model := result.Model; model >= 1; model-- {
		offset := strings.Index(log, fmt.Sprintf("\n**Models %d.** ", model))
		if offset <= last {
			t.Errorf("CHANGELOG.md has no entry for models %d after the entries of later models", model)
		}
		last = offset
	}
	if strings.Contains(log, fmt.Sprintf("**Models %d.**", result.Model+1)) {
		t.Errorf("CHANGELOG.md has an entry for models %d, the current ones are %d",
			result.Model+1, result.Model)
	}
	if first := regexp.MustCompile(`(?m)^## (.*)$`).FindStringSubmatch(log); first == nil ||
		first[1] != result.Version {
		t.Errorf("CHANGELOG.md starts with %q, want version %s", first, result.Version)
	}
}

// TestCitation checks that CITATION.cff is complete and cites this version.
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
	readYAML(t, "CITATION.cff", &c)
	if c.CFF != "1.2.0" || c.Message == "" || c.Title == "" || c.Type != "software" ||
		len(c.Authors) == 0 || c.License != "Apache-2.0" || c.Version != result.Version {
		t.Errorf("CITATION.cff: want version %s (models %d), got %+v", result.Version, result.Model, c)
	}
}

// readYAML decodes a YAML file into v. It fails if the file has a key without a field.
func readYAML(t *testing.T, file string, v any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(readFile(t, file)))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// TestReleaseConfiguration checks .goreleaser.yaml. Its builds are for platforms that Go
// supports, each build is archived, and the files of archives exist. goreleaser itself and go
// build check the rest.
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

	readYAML(t, ".goreleaser.yaml", &c)
	known, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var ids, archived []string
	for _, b := range c.Builds {
		ids = append(ids, b.ID)
		for _, goos := range b.Goos {
			for _, goarch := range b.Goarch {
				if !bytes.Contains(known, []byte("\n"+goos+"/"+goarch+"\n")) {
					t.Errorf("build %s: Go does not support %s/%s", b.ID, goos, goarch)
				}
			}
		}
	}

	for _, a := range c.Archive {
		archived = append(archived, a.IDs...)
		for _, file := range a.Files {
			readFile(t, file)
		}
	}

	if c.Version != 2 || len(ids) == 0 || !slices.Equal(ids, archived) {
		t.Errorf("got builds %v and archives of %v, want the same builds and version 2", ids, archived)
	}
}

// TestContainerfile checks that Containerfile uses the Go version of go.mod, and that the files
// it copies exist.
func TestContainerfile(t *testing.T) {
	file := readFile(t, "Containerfile")
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readFile(t, "go.mod"))[1]
	if !strings.Contains(file, "golang:"+want+"-") {
		t.Errorf("Containerfile does not use Go %s", want)
	}
	for _, name := range regexp.MustCompile(`/src/([\w.-]+)`).FindAllStringSubmatch(file, -1) {
		readFile(t, name[1])
	}
}

// TestNotebook checks that all cells of docs/metrics.ipynb were executed in order and without
// an error.
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

	if err := json.Unmarshal([]byte(readFile(t, "docs/metrics.ipynb")), &book); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range book.Cells {
		if c.Type != "code" {
			continue
		}
		if n++; c.Count != n {
			t.Errorf("cell %d was executed as number %d", n, c.Count)
		}
		for _, o := range c.Outputs {
			if o.Type == "error" {
				t.Errorf("cell %d returned an error", n)
			}
		}
	}

	if n < 3 {
		t.Errorf("got %d code cells, want at least 3", n)
	}
}

// TestNotices checks that THIRD-PARTY.txt has the licences of all modules that any build of the
// program contains.
func TestNotices(t *testing.T) {
	var want bytes.Buffer
	want.WriteString("Modules other than sim in the program, and their licences. make notices writes this file. The\nGo standard library is under the licence of golang.org/x/sys, which is below.\n")
	dirs := map[string]string{}
	var names []string
	for _, goos := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-tags", "nats", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", ".")
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
			fmt.Fprintf(&want, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), name, e.Name(),
				strings.TrimSpace(strings.ReplaceAll(readFile(t,
					filepath.Join(dirs[name], e.Name())), "\r\n", "\n")))
		}

		if !found {
			t.Errorf("module %s has no licence file", name)
		}
	}

	embedded, err := exec.Command("git", "ls-files", "*LICENSE*").Output()
	if err != nil {
		t.Skip("no git: ", err)
	}
	for file := range strings.FieldsSeq(string(embedded)) {
		if file != "LICENSE" {
			fmt.Fprintf(&want, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), file,
				strings.TrimSpace(readFile(t, file)))
		}
	}

	if *notices {
		if err := os.WriteFile("THIRD-PARTY.txt", want.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}

	if readFile(t, "THIRD-PARTY.txt") != want.String() {
		t.Error("THIRD-PARTY.txt differs from the modules of the builds; run make notices")
	}
}
