// Only relay-compiler reads these documents. Relay's Babel plugin would replace them with the compiled
// ones; client.ts imports those by name instead.
import { graphql } from "relay-runtime";

graphql`
  query siteFrontPageQuery {
    articles {
      id
      votes
    }
    viewer {
      name
    }
  }
`;

graphql`
  mutation sitePostMutation($input: PostInput!) {
    post(input: $input) {
      article {
        id
      }
      userErrors {
        code
        message
      }
    }
  }
`;

graphql`
  mutation siteVoteMutation($input: VoteInput!) {
    vote(input: $input) {
      article {
        id
        votes
        viewerVote
      }
      userErrors {
        code
        message
      }
    }
  }
`;

graphql`
  subscription siteChangedSubscription($ids: [ID!]!) {
    articleChanged(ids: $ids) {
      id
      votes
    }
  }
`;

graphql`
  query siteListQuery($count: Int!) {
    ...site_list @arguments(count: $count)
  }
`;

graphql`
  fragment site_list on Query
  @argumentDefinitions(count: { type: "Int!" }, cursor: { type: "String" })
  @refetchable(queryName: "siteListNextQuery") {
    articlesConnection(order: TIME, direction: ASC, first: $count, after: $cursor)
      @connection(key: "site_list_articlesConnection") {
      edges {
        node {
          id
        }
      }
    }
  }
`;

// Relay reads the next page of a list inside an object by node(id:).
graphql`
  query siteGroupQuery($name: String!, $count: Int!) {
    group(name: $name) {
      ...site_group @arguments(count: $count)
    }
  }
`;

graphql`
  fragment site_group on Group
  @argumentDefinitions(count: { type: "Int!" }, cursor: { type: "String" })
  @refetchable(queryName: "siteGroupNextQuery") {
    articlesConnection(order: TIME, direction: ASC, first: $count, after: $cursor)
      @connection(key: "site_group_articlesConnection") {
      edges {
        node {
          id
        }
      }
    }
  }
`;

graphql`
  query sitePageQuery($page: Int!, $pageSize: Int!) {
    articles(order: TIME, direction: ASC, page: $page, pageSize: $pageSize) {
      id
    }
  }
`;

// What Relay makes of the error of a field: statuses.ts.
graphql`
  query siteStatusesQuery {
    site {
      name
    }
    viewer {
      name
    }
  }
`;

graphql`
  query siteStatusesThrownQuery @throwOnFieldError {
    site {
      name
    }
    viewer {
      name
    }
  }
`;

graphql`
  query siteStatusesCaughtQuery {
    site {
      name
    }
    viewer @catch {
      name
    }
  }
`;
