#!/bin/bash
# What a person does with curl. FRONTPAGE_URL is the endpoint.
set -euo pipefail

fail() {
	echo "curl: $1" >&2
	exit 1
}

# ask USER QUERY VARIABLES sends a query or a mutation by POST.
ask() {
	curl -sS --fail-with-body "$FRONTPAGE_URL" -H 'Content-Type: application/json' -H "X-User-ID: $1" \
		--data "{\"query\":\"$2\",\"variables\":$3}"
}

# get QUERY VARIABLES sends a query by GET.
get() {
	curl -sS --fail-with-body --get --compressed "$FRONTPAGE_URL" \
		--data-urlencode "query=$1" --data-urlencode "variables=$2"
}

# ids prints the ids of the articles in an answer.
ids() {
	grep -o 'article:[0-9]*' <<<"$1" || true
}

[ "$(get '{ viewer { name } articles { id } }' '{}' | grep -o article: | wc -l)" = 25 ] ||
	fail "the front page has not 25 articles"

answer=$(ask curl-poster 'mutation ($input: PostInput!) { post(input: $input) { article { id } userErrors { message } } }' \
	'{"input":{"title":"posted by curl","link":"https://curl.se/"}}')
posted=$(ids "$answer")
[ "$answer" = "{\"data\":{\"post\":{\"article\":{\"id\":\"$posted\"},\"userErrors\":[]}}}" ] || fail "post: $answer"

answer=$(ask curl-voter 'mutation ($article: ID!) { vote(input: {article: $article}) { article { votes viewerVote } } }' \
	"{\"article\":\"$posted\"}")
[ "$answer" = '{"data":{"vote":{"article":{"votes":2,"viewerVote":"UP"}}}}' ] || fail "vote: $answer"

by_cursor=
after=null
until [ "$after" = '"end"' ]; do
	answer=$(get 'query ($after: String) { articlesConnection(order: TIME, direction: ASC, first: 30, after: $after) {
		nodes { id } pageInfo { hasNextPage endCursor } } }' "{\"after\":$after}")
	by_cursor+=$(ids "$answer")$'\n'
	after='"end"'
	if grep -q '"hasNextPage":true' <<<"$answer"; then
		after=$(sed 's/.*"endCursor":\("[^"]*"\).*/\1/' <<<"$answer")
	fi
done

by_page=
page=1
while answer=$(get 'query ($page: Int!) { articles(order: TIME, direction: ASC, page: $page, pageSize: 30) { id } }' "{\"page\":$page}") &&
	found=$(ids "$answer") && [ -n "$found" ]; do
	by_page+=$found$'\n'
	page=$((page + 1))
done

[ "$(head -n 500 <<<"$by_cursor")" = "$(seq -f 'article:%.0f' 1001 1500)" ] || fail "the walk by cursor has not every seeded article, in order"
[ "$by_cursor" = "$by_page" ] || fail "the walks by cursor and by page number differ"
echo "curl: a query by GET, two mutations, $(wc -l <<<"${by_cursor%$'\n'}") articles by cursor and by page number"
