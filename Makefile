# Everything here also works by hand: targets are short names for go commands.

GO ?= go
FUZZTIME ?= 30s

.PHONY: build test short race bench fuzz lint ci docs gallery notices reproduction accuracy imports plain baselines rename clean

build:
	$(GO) build -o sim .

test:
	$(GO) test ./...

short:
	$(GO) test -short ./...

race:
	.ci/run race

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

fuzz:
	$(GO) test -run '^$$' -fuzz '^FuzzParse$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 1x ./scenarios
	$(GO) test -run '^$$' -fuzz '^FuzzRead$$' -fuzztime $(FUZZTIME) ./scenarios/result
	$(GO) test -run '^$$' -fuzz '^FuzzParse$$' -fuzztime $(FUZZTIME) ./engine/units

# formatting, vet, modules, staticcheck and who imports whom
lint:
	.ci/run format vet modules staticcheck imports

# all that is checked before a change is taken
ci:
	.ci/run

# what is generated: what is below the marks in docs/scenario.md and docs/metrics.md, and the picture of README.md
docs: build
	sed '/^<!-- sim list keys -->$$/q' docs/scenario.md > docs/scenario.md.new
	./sim list keys --markdown >> docs/scenario.md.new
	mv docs/scenario.md.new docs/scenario.md
	sed '/^<!-- sim list metrics -->$$/q' docs/metrics.md > docs/metrics.md.new
	./sim list metrics --markdown >> docs/metrics.md.new
	mv docs/metrics.md.new docs/metrics.md
	./sim list keys --json-schema > docs/scenario.schema.json
	./sim run scenarios/deepseek671b.toml --force --out runs/docs
	cp runs/docs/plots/nct.png docs/img/nct.png

# the licences of all modules that are in the program
notices:
	$(GO) test . -run Notices -notices

# the tables of docs/reproduction.md, from what is stored and, of what is not, from runs
reproduction:
	$(GO) test ./docs -long -update

# the stored predictions of published measurements, and the tables of docs/accuracy.md
accuracy:
	$(GO) test ./scenarios/accuracy -run TestStored -update
	$(GO) test ./docs -run TestAccuracy -update
	$(GO) run . validate --out docs/img > /dev/null

# the pictures of docs/gallery.md
gallery:
	rm -rf docs/img/gallery
	$(GO) test ./docs -run Gallery -update -timeout 30m

# who imports whom, as the checks hold it
imports:
	.ci/run edges > imports.new
	mv imports.new .ci/imports.txt

# lower the limits of .ci/plain.txt to the present counts
plain:
	$(GO) run ./internal/plainlint -baseline .ci/plain.txt -write

# the results that every change is held to; after raising result.Model where one changed
baselines:
	$(GO) test . -run Baselines -update

# the module's name in the module file, imports and checks: make rename MODULE=example.org/you/sim
rename:
	sed -i -E 's#^module sim$$#module $(MODULE)#' go.mod
	git ls-files -z '*.go' | xargs -0 sed -i -E 's#(["`])sim/#\1$(MODULE)/#g'
	sed -i -E 's#(^| )sim/#\1$(MODULE)/#g; s#^sim #$(MODULE) #' .ci/*.txt
	sed -i -E 's#("\^?)sim/#\1$(MODULE)/#g; s#\^sim\(#^$(MODULE)(#; s#!= "sim"#!= "$(MODULE)"#' .ci/run
	gofmt -w $$(git ls-files '*.go')

clean:
	rm -rf sim runs docs/*.md.new
