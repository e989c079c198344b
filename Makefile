.PHONY: help run test ci lint fuzz bench load plot generate web diagram screenshots

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile

run: ## serve on http://127.0.0.1:8080
	go run .

test: ## run the tests; with FULL=1 all there is
	scripts/test.sh

ci: ## run what CI runs
	scripts/test.sh --ci

lint: ## lint the Go code
	scripts/lint.sh

fuzz: ## run every fuzz target on 20,000 inputs
	scripts/fuzz.sh

bench: ## measure a page and a vote at 1,000, 100,000 and 1,000,000 articles, and 5,000 watchers
	go test -run '^$$' -bench Site -benchmem ./tests/benchmarks
	go test -run '^$$' -bench Watchers -benchtime 1x ./tests/benchmarks

load: ## measure the server under load by wrk, on one core: pages, votes, overload
	FRONTPAGE_SHARED_ANSWERS=0 scripts/load.sh page varied overload
	scripts/load.sh page gzip vote hot

plot: ## measure what sites of different sizes cost, and draw docs/images/cost.svg; needs gnuplot
	scripts/plot.sh

generate: ## generate the code in graph from schema.graphqls and gqlgen.yml
	go generate ./...

web: ## build site/web/dist from its sources; needs Node
	cd site/web && npm ci && npm run build

diagram: ## draw the diagrams in docs/images from their sources; needs Graphviz
	dot -Tsvg docs/images/packages.dot -o docs/images/packages.svg
	dot -Tsvg docs/images/rooms.dot -o docs/images/rooms.svg

screenshots: ## take the screenshots in docs/; needs Node and Chromium
	cd site/web && npm run screenshots
